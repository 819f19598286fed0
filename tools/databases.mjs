// The databases of wrangler.toml, and those of `make dev`, which are run in their own runtime and without wrangler, which
// takes seconds to load.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const configuration = readFileSync(new URL("../wrangler.toml", import.meta.url), "utf8");

/** Their bindings; the first is that of the directory. */
export const DATABASES = [...configuration.matchAll(/^binding = "(DB(?:_\d+)?)"$/gm)].map(([, name]) => name);

/** The id of each: locally, it names the file. */
const IDS = Object.fromEntries(
  [...configuration.matchAll(/^binding = "(DB(?:_\d+)?)"\n(?:[^\n[]+\n)*?database_id = "([^"]+)"$/gm)].map(([, name, id]) => [name, id]),
);

const WORKER = `export default {
  async fetch(request, env) {
    try {
      const { database, statements } = await request.json();
      const results = await env[database].batch(statements.map((sql) => env[database].prepare(sql)));
      return Response.json(results.at(-1).results);
    } catch (error) {
      return new Response(error.message, { status: 400 });
    }
  },
};`;

// By `import`, Node would first read all of the package for the names that it exports: half a second.
const require = createRequire(import.meta.url);
let runtime;

/** The rows of the last of these statements, all in one transaction; `folder` is where the state lies. */
export async function execute(folder, database, statements) {
  const { Miniflare } = require("miniflare");
  runtime ??= new Miniflare({
    modules: true,
    script: WORKER,
    compatibilityDate: "2026-04-01",
    d1Databases: IDS,
    defaultPersistRoot: path.join(folder ?? ".wrangler/state", "v3"),
    cf: false,
    // The runtime's long message about a locked database is suppressed, since the same is reported
    // here.
    handleRuntimeStdio: (...streams) => streams.forEach((stream) => stream.resume()),
  });
  const body = JSON.stringify({ database, statements });
  const reply = await runtime.dispatchFetch("http://local/", { method: "POST", body });
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}

/** Ends the runtime, if it was needed. */
export async function close() {
  await runtime?.dispose();
}
