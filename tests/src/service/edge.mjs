// The built Worker in the real runtime, with the bindings of wrangler.toml and state of its own.
//
// node edge.mjs SETTINGS.json, where SETTINGS is
//   wrangler   what wrangler.mjs has read from wrangler.toml: path of its file
//   port       where the Worker is served, on 127.0.0.1
//   direct     port of the Worker without miniflare's own in front: neither the one that goes on when a
//              client leaves, nor the router of static assets
//   control    port of the control channel: POST /sql {sql, params}, or a list of them to run as one
//              transaction, answers the rows of the last, of all databases one after another, or of
//              ?database=N alone; POST /scheduled runs the scheduled handler, or that of ?variant=N; POST
//              /queue [text] hands these messages to the consumer, and answers what it told the queue of them
//   state      folder of D1, KV and the Cache API, as wrangler's --persist-to; kept across restarts
//   vars       vars and secrets, over those of wrangler.toml
//   shielded   false: the rate limit bindings let everything through
//   shields    limits of single rate limit bindings, by name
//   mailless   true: no mail can be handed over
//   shimmed    true: the Worker's bindings are counted and fail as shim.mjs is told
//   inspector  port of the runtime's inspector, the Worker with its functions' names
//              (target/edge-with-names.wasm); null: none
//   beside     further Workers in the same runtime with the same bindings and storage: a list of
//              {script, port, vars}, path, port and further vars of each
//   exchanged  two databases' numbers: each is bound in the place of the other; null: none
//   databases  how many databases it has; null: those of wrangler.toml
//   webhooks   port that stands for the https servers of the whole Internet, with the URL in the header `x-url`;
//              null: there are none
//   variants   the Worker itself once more, with other vars, as while a deployment spreads: a list of
//              {port, vars}, vars over those above
//
// What the Worker logs and the mails it "sends" appear on standard output; `ready` is the last line of
// the start.
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

// By `import`, Node would first read all of miniflare for the names that it exports: half a second of CPU.
const { Log, LogLevel, Miniflare, Response, fetch: fetchPlainly } = createRequire(import.meta.url)("miniflare");

// The runtime hands mails to a server of miniflare's, over connections that it keeps. Node ends such a connection after
// five idle seconds, and a mail that is on its way just then is lost: the Worker says 503. So they are not ended.
const { createServer } = http;
http.createServer = (...handed) => Object.assign(createServer(...handed), { keepAliveTimeout: 0 });

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const config = JSON.parse(readFileSync(settings.wrangler, "utf8"));
const { main, options: bindings } = config;

const UNLIMITED = 1_000_000_000;
const limitOf = (name, limit) => settings.shields[name] ?? (settings.shielded ? limit : UNLIMITED);
const ratelimits = Object.fromEntries(
  Object.entries(bindings.ratelimits ?? {}).map(([name, limit]) => [
    name,
    { ...limit, simple: { ...limit.simple, limit: limitOf(name, limit.simple.limit) } },
  ]),
);

// The control channel is a Worker too. Miniflare's own way to D1 from Node makes a synchronous call for
// each `prepare` and `bind`, and now and then takes the late end of one call for that of the next.
const count = settings.databases ?? config.databases.length;
const databases = Array.from({ length: count }, (_, number) => (number === 0 ? "DB" : `DB_${number}`));
const d1Databases = Object.fromEntries(
  databases.map((name) => [name, bindings.d1Databases[name] ?? `not-in-wrangler-toml-${name}`]),
);
if (settings.exchanged) {
  const [one, other] = settings.exchanged.map((number) => databases[number]);
  [d1Databases[one], d1Databases[other]] = [d1Databases[other], d1Databases[one]];
}

const CONTROL = `const DATABASES = ${JSON.stringify(databases)};
export default {
  async fetch(request, env) {
    try {
      const url = new URL(request.url);
      if (["/scheduled", "/queue"].includes(url.pathname)) return env.SCHEDULED.fetch(request);
      const statements = [await request.json()].flat();
      const number = url.searchParams.get("database");
      const rows = [];
      for (const name of number === null ? DATABASES : [DATABASES[number]]) {
        const database = env[name];
        const bound = statements.map(({ sql, params }) => database.prepare(sql).bind(...(params ?? [])));
        rows.push(...(await database.batch(bound)).at(-1).results);
      }
      return Response.json(rows);
    } catch (error) {
      return new Response(String(error), { status: 400 });
    }
  },
};`;

// A binding that may send from no address refuses every mail, as Cloudflare does from an address
// that is not onboarded.
const send = settings.mailless
  ? bindings.email.send_email.map((binding) => ({ ...binding, allowed_sender_addresses: [] }))
  : bindings.email.send_email;

const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: settings.port,
  log: new Log(LogLevel.INFO),
  // The Worker logs each request itself; a second line costs a call of Node.
  logRequests: false,
  ...(settings.inspector && { inspectorPort: settings.inspector }),
  // No look-up of the data centre we are near: there may be no network.
  cf: false,
  defaultPersistRoot: path.join(settings.state, "v3"),
  workers: [
    {
      ...bindings,
      d1Databases,
      name: config.name,
      modules: settings.shimmed ? [shim(main), ...modulesBeside(main)] : modulesBeside(main),
      modulesRoot: path.dirname(main),
      bindings: { ...bindings.bindings, ...settings.vars },
      ratelimits,
      email: { send_email: send },
      ...(settings.webhooks && { outboundService: outside }),
    },
    {
      name: "control",
      modules: true,
      script: CONTROL,
      compatibilityDate: bindings.compatibilityDate,
      d1Databases,
      serviceBindings: { SCHEDULED: runScheduled },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: settings.control }],
    },
    {
      // A socket of the Worker itself would lead through miniflare's router of static assets, which is
      // JavaScript too and which the Workers beside do not have.
      name: "direct",
      modules: true,
      script: "export default {};",
      compatibilityDate: bindings.compatibilityDate,
      unsafeDirectSockets: [{ host: "127.0.0.1", port: settings.direct, serviceName: config.name }],
    },
    ...(settings.beside ?? []).map(beside),
    ...(settings.variants ?? []).map(variant),
  ],
});

await miniflare.ready;
await Promise.all(databases.map((_, number) => migrate(number)));

console.log(`ready ${databases.length} databases`);

for (const signal of ["SIGTERM", "SIGINT"]) {
  process.on(signal, async () => {
    await miniflare.dispose();
    process.exit(0);
  });
}

// A service binding would reach the router of the static assets, which has no such handler.
async function runScheduled(request) {
  if (new URL(request.url).pathname === "/queue") return deliver(await request.json());
  const variant = new URL(request.url).searchParams.get("variant");
  const worker = await miniflare.getWorker(variant ? `variant-${variant}` : config.name);
  const { outcome } = await worker.scheduled({ cron: config.cron });
  return new Response(outcome);
}

// Hands texts to the consumer as one batch of messages, whatever is in the queue.
async function deliver(texts) {
  const worker = await miniflare.getWorker(config.name);
  const messages = texts.map((body, index) => ({ id: `${index}`, timestamp: new Date(), attempts: 1, body }));
  return Response.json(await worker.queue(config.queue, messages));
}

// Every module worker-build wrote, the entry first.
function modulesBeside(entry) {
  const folder = path.dirname(entry);
  const types = { ".js": "ESModule", ".mjs": "ESModule", ".wasm": "CompiledWasm" };
  const modules = readdirSync(folder, { recursive: true })
    .map((name) => ({ type: types[path.extname(name)], path: path.join(folder, name) }))
    .filter((module) => module.type);
  modules.sort((a, b) => Number(b.path === entry) - Number(a.path === entry));
  if (settings.inspector) {
    const named = new URL("../../../target/edge-with-names.wasm", import.meta.url);
    const wasm = modules.find((module) => module.type === "CompiledWasm");
    wasm.contents = readFileSync(named);
  }
  return modules;
}

// What the Worker fetches from the Internet.
async function outside(request) {
  if (!request.url.startsWith("https:")) return fetchPlainly(request);
  const told = [...request.headers].filter(([name]) => /^(webhook-|content-type$|user-agent$)/.test(name));
  const headers = { ...Object.fromEntries(told), "x-url": request.url };
  const [url, body] = [`http://127.0.0.1:${settings.webhooks}/`, await request.text()];
  const reply = await fetchPlainly(url, { method: request.method, headers, body, redirect: "manual" });
  return new Response(null, { status: reply.status, headers: reply.headers });
}

// The entry that stands before the shipped one.
function shim(entry) {
  const contents = readFileSync(new URL("shim.mjs", import.meta.url), "utf8");
  return { type: "ESModule", path: path.join(path.dirname(entry), "shim.mjs"), contents };
}

function beside({ script, port, vars }, index) {
  return {
    name: `${path.basename(script, ".mjs")}-${index}`,
    modules: true,
    script: readFileSync(script, "utf8"),
    compatibilityDate: bindings.compatibilityDate,
    d1Databases,
    kvNamespaces: bindings.kvNamespaces,
    ratelimits,
    bindings: { ...bindings.bindings, ...settings.vars, ...vars },
    unsafeDirectSockets: [{ host: "127.0.0.1", port }],
  };
}

function variant({ port, vars }, index) {
  // Its socket would lead through the router of static assets.
  // A queue has one consumer.
  const { assets, queueConsumers: _, ...rest } = bindings;
  return {
    ...rest,
    serviceBindings: { ...rest.serviceBindings, [assets.binding]: fileOf(assets.directory) },
    d1Databases,
    name: `variant-${index}`,
    modules: modulesBeside(main),
    modulesRoot: path.dirname(main),
    bindings: { ...bindings.bindings, ...settings.vars, ...vars },
    ratelimits,
    email: { send_email: send },
    unsafeDirectSockets: [{ host: "127.0.0.1", port }],
  };
}

// What the Worker reads through its binding for assets.
function fileOf(folder) {
  return (request) => new Response(readFileSync(path.join(folder, new URL(request.url).pathname)));
}

// As `wrangler d1 migrations apply`: files in order, each once, remembered in `d1_migrations`.
async function migrate(database) {
  await sql(database, { sql: "CREATE TABLE IF NOT EXISTS d1_migrations (name TEXT PRIMARY KEY)" });
  const rows = await sql(database, { sql: "SELECT name FROM d1_migrations" });
  const applied = new Set(rows.map((row) => row.name));
  const missing = config.migrations.filter(({ name }) => !applied.has(name));
  // All in one: a start of the Worker is for many tests most of their time.
  const statements = missing.flatMap(({ name, statements }) => [
    ...statements.map((sql) => ({ sql })),
    { sql: "INSERT INTO d1_migrations (name) VALUES (?)", params: [name] },
  ]);
  if (statements.length > 0) await sql(database, statements);
}

// One statement, or several as one transaction; the rows of the last.
async function sql(database, statements) {
  const body = JSON.stringify(statements);
  const url = `http://127.0.0.1:${settings.control}/sql?database=${database}`;
  const reply = await fetch(url, { method: "POST", body });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}
