// Stands before the Worker in its own isolate and counts what it asks of D1 and KV; GET /v1/__observed
// answers the counts, the headers of the mails handed over, which miniflare does not show, and the size
// of the Worker's memory.
import { memory } from "./memory.mjs";
import Worker from "./index.js";

const seen = { d1: 0, kv: 0, mails: [] };

// The binding itself, with a look at each call. It stays what it is for everybody who asks.
const watch = (binding, look) =>
  new Proxy(binding, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function" || name === "constructor") return member;
      return (...values) => {
        look(name, values);
        // Not member.apply: of a remote binding's method that would be a remote call named `apply`.
        return target[name](...values);
      };
    },
  });

const watched = (env) => ({
  ...env,
  DB: watch(env.DB, () => (seen.d1 += 1)),
  VERDICTS: watch(env.VERDICTS, () => (seen.kv += 1)),
  MAIL: watch(env.MAIL, (_, [message]) => {
    seen.mails.push({ to: message.to, subject: message.subject, headers: message.headers });
  }),
});

export default class extends Worker {
  constructor(context, env) {
    super(context, watched(env));
  }

  fetch(request) {
    if (new URL(request.url).pathname === "/v1/__observed") {
      return Response.json({ ...seen, wasm_bytes: memory()?.buffer.byteLength });
    }
    return super.fetch(request);
  }
}
