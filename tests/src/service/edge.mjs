// The built Worker in the real runtime, with the bindings of wrangler.toml and separate state.
//
// `new Edge(SETTINGS, LOG)`, where LOG is miniflare's log and SETTINGS has these members:
//   log        path of the file for the Worker's log lines and the emails that it "sends"
//   temporary  folder of miniflare's files while it runs, such as the emails' texts
//   wrangler   path of the file that wrangler.mjs has written
//   port       port of the Worker on 127.0.0.1
//   direct     port of the Worker without miniflare's own Workers in front: the entry, which continues when a
//              client leaves, and the router of static assets
//   control    port of the control channel. POST /sql runs {sql, params}, or a list of them as one
//              transaction, on all databases or on ?database=N, and returns the rows of the last statement.
//              POST /scheduled runs the scheduled handler, of the Worker or of ?variant=N. POST /queue [text]
//              delivers these messages to the consumer, and returns the consumer's reply
//   state      folder of D1, KV and the Cache API, as wrangler's --persist-to; kept across restarts
//   vars       vars and secrets, which override those of wrangler.toml
//   shielded   false: the rate limit bindings let everything through
//   shields    limits of single rate limit bindings, by name
//   pages      true: the portal's pages are served as static assets; false: only read by the Worker
//   mailless   true: every email is rejected
//   shimmed    true: the Worker's bindings are counted, and fail as shim.mjs is configured
//   beside     further Workers in the same runtime with the same D1, KV, rate limits and vars: a list of
//              {script, port, vars}, with the script's path and further vars
//   exchanged  numbers of two databases whose bindings are swapped; null: none
//   databases  number of databases; null: those of wrangler.toml
//   webhooks   port that receives every https request of the Worker, with the URL in the header `x-url`;
//              null: none
//   variants   the same Worker with other vars, as during a deployment: a list of {port, vars}, which
//              override the vars above
import { readFileSync, readdirSync } from "node:fs";
import http from "node:http";
import Module, { createRequire } from "node:module";
import path from "node:path";

// A plain `import` would first search all of miniflare for exports, which takes half a second of CPU.
const miniflare = changed(createRequire(import.meta.url), "miniflare");
const { Miniflare, Response } = miniflare;
export const { Log, LogLevel } = miniflare;

// Keeps open the persistent connections over which the runtime passes emails to a server in miniflare. Node would close
// the connections after five idle seconds; an email sent at that moment would be lost, and the Worker would respond
// 503.
const { createServer } = http;
http.createServer = (...handed) => Object.assign(createServer(...handed), { keepAliveTimeout: 0 });

const UNLIMITED = 1_000_000_000;

const socket = (port) => ({ host: "127.0.0.1", port });

export class Edge {
  #settings;
  #config;
  #databases;
  #miniflare;
  /** Resolves once the edge can be used. */
  ready;

  constructor(settings, log) {
    this.#settings = settings;
    this.#config = JSON.parse(readFileSync(settings.wrangler, "utf8"));
    const count = settings.databases ?? this.#config.databases.length;
    this.#databases = Array.from({ length: count }, (_, number) => (number === 0 ? "DB" : `DB_${number}`));
    // Miniflare's constructor reads this variable.
    process.env.TMPDIR = settings.temporary;
    this.#miniflare = new Miniflare({
      host: "127.0.0.1",
      port: settings.port,
      log,
      // The Worker logs each request itself; a second line costs a call of Node.
      logRequests: false,
      // Don't look up the nearest data centre: there may be no network.
      cf: false,
      defaultPersistRoot: path.join(settings.state, "v3"),
      workers: [
        this.#worker(),
        this.#control(),
        ...(settings.beside ?? []).map((beside, index) => this.#beside(beside, index)),
        ...(settings.variants ?? []).map((variant, index) => this.#variant(variant, index)),
      ],
    });
    this.ready = this.#miniflare.ready.then(() =>
      Promise.all(this.#databases.map((_, number) => this.#migrate(number))),
    );
  }

  dispose() {
    return this.#miniflare.dispose();
  }

  /** Returns the options shared by the Worker, its variants and the Workers beside it. */
  #shared(vars) {
    const { bindings, compatibilityDate } = this.#config.options;
    return {
      compatibilityDate,
      d1Databases: this.#d1Databases(),
      ratelimits: this.#ratelimits(),
      bindings: { ...bindings, ...this.#settings.vars, ...vars },
    };
  }

  #worker() {
    const { name, main, options } = this.#config;
    const { shimmed, webhooks, pages } = this.#settings;
    const modules = this.#modules();
    return {
      ...(pages ? options : withoutAssets(options)),
      ...this.#shared(),
      name,
      modules: [direct(main, shimmed), ...(shimmed ? [shim(main)] : []), ...modules],
      modulesRoot: path.dirname(main),
      email: this.#email(),
      // Named, because the default one would lead through the router of static assets.
      unsafeDirectSockets: [{ ...socket(this.#settings.direct), entrypoint: "direct" }],
      ...(webhooks && { outboundService: (request) => outside(request, webhooks) }),
    };
  }

  // The control channel is also a Worker. Miniflare's own access to D1 from Node makes a synchronous call for each
  // `prepare` and `bind`. That access occasionally mistakes the late end of one call for the end of the next.
  #control() {
    const { variants = [] } = this.#settings;
    const script = `const DATABASES = ${JSON.stringify(this.#databases)};
export default {
  async fetch(request, env) {
    try {
      const url = new URL(request.url);
      if (url.pathname === "/scheduled") {
        const worker = env["WORKER_" + (url.searchParams.get("variant") ?? "")];
        return new Response((await worker.scheduled({ cron: ${JSON.stringify(this.#config.cron)} })).outcome);
      }
      if (url.pathname === "/queue") {
        const timestamp = new Date();
        const texts = await request.json();
        const messages = texts.map((body, index) => ({ id: String(index), timestamp, attempts: 1, body }));
        return Response.json(await env.WORKER_.queue(${JSON.stringify(this.#config.queue)}, messages));
      }
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
    return {
      name: "control",
      modules: true,
      script,
      compatibilityDate: this.#config.options.compatibilityDate,
      // For `scheduled` and `queue` of a service binding. Node's `getWorker` would start a thread for each edge.
      compatibilityFlags: ["service_binding_extra_handlers"],
      // Two Workers less to start.
      cache: false,
      stripCfConnectingIp: false,
      d1Databases: this.#d1Databases(),
      serviceBindings: {
        WORKER_: { name: this.#config.name, entrypoint: "direct" },
        ...Object.fromEntries(variants.map((_, index) => [`WORKER_${index}`, `variant-${index}`])),
      },
      unsafeDirectSockets: [socket(this.#settings.control)],
    };
  }

  #beside({ script, port, vars }, index) {
    return {
      ...this.#shared(vars),
      name: `${path.basename(script, ".mjs")}-${index}`,
      modules: true,
      script: readFileSync(script, "utf8"),
      kvNamespaces: this.#config.options.kvNamespaces,
      unsafeDirectSockets: [socket(port)],
    };
  }

  #variant({ port, vars }, index) {
    const { main, options } = this.#config;
    // With assets, the variant's socket would lead to the assets' router. A queue has only one consumer, the Worker.
    const { queueConsumers: _, ...rest } = withoutAssets(options);
    return {
      ...rest,
      ...this.#shared(vars),
      name: `variant-${index}`,
      modules: this.#modules(),
      modulesRoot: path.dirname(main),
      email: this.#email(),
      unsafeDirectSockets: [socket(port)],
    };
  }

  #d1Databases() {
    const bound = this.#config.options.d1Databases;
    const names = this.#databases;
    const ids = names.map((name) => bound[name] ?? `not-in-wrangler-toml-${name}`);
    const [one, other] = this.#settings.exchanged ?? [0, 0];
    [ids[one], ids[other]] = [ids[other], ids[one]];
    return Object.fromEntries(names.map((name, number) => [name, ids[number]]));
  }

  #ratelimits() {
    const { shields, shielded } = this.#settings;
    const limitOf = (name, limit) => (name in shields ? endless(shields[name]) : shielded ? limit : UNLIMITED);
    return Object.fromEntries(
      Object.entries(this.#config.options.ratelimits ?? {}).map(([name, limit]) => [
        name,
        { ...limit, simple: { ...limit.simple, limit: limitOf(name, limit.simple.limit) } },
      ]),
    );
  }

  // A binding without allowed senders rejects every email, as Cloudflare does for an unverified sender.
  #email() {
    const { send_email: bindings } = this.#config.options.email;
    if (!this.#settings.mailless) return { send_email: bindings };
    return { send_email: bindings.map((binding) => ({ ...binding, allowed_sender_addresses: [] })) };
  }

  // Returns the modules of the built Worker, the entry first.
  #modules() {
    const entry = this.#config.main;
    const folder = path.dirname(entry);
    const types = { ".js": "ESModule", ".mjs": "ESModule", ".wasm": "CompiledWasm" };
    const modules = readdirSync(folder, { recursive: true })
      .map((name) => ({ type: types[path.extname(name)], path: path.join(folder, name) }))
      .filter((module) => module.type);
    modules.sort((a, b) => Number(b.path === entry) - Number(a.path === entry));
    return modules;
  }

  // Applies missing migrations like `wrangler d1 migrations apply`: in order, recorded in `d1_migrations`.
  async #migrate(database) {
    await this.#sql(database, { sql: "CREATE TABLE IF NOT EXISTS d1_migrations (name TEXT PRIMARY KEY)" });
    const rows = await this.#sql(database, { sql: "SELECT name FROM d1_migrations" });
    const applied = new Set(rows.map((row) => row.name));
    const missing = this.#config.migrations.filter(({ name }) => !applied.has(name));
    // All statements run in one call, because many tests spend most of their time on starting the Worker.
    const statements = missing.flatMap(({ name, statements }) => [
      ...statements.map((sql) => ({ sql })),
      { sql: "INSERT INTO d1_migrations (name) VALUES (?)", params: [name] },
    ]);
    if (statements.length > 0) await this.#sql(database, statements);
  }

  // Runs one statement, or several as one transaction, and returns the rows of the last statement.
  async #sql(database, statements) {
    const body = JSON.stringify(statements);
    const url = `http://127.0.0.1:${this.#settings.control}/sql?database=${database}`;
    const reply = await fetch(url, { method: "POST", body });
    if (!reply.ok) throw new Error(await reply.text());
    return reply.json();
  }
}

// Answers requests of the Worker to the Internet; port `webhooks` receives the requests with https.
async function outside(request, webhooks) {
  if (!request.url.startsWith("https:")) return miniflare.fetch(request);
  const told = [...request.headers].filter(([name]) => /^(webhook-|content-type$|user-agent$)/.test(name));
  const headers = { ...Object.fromEntries(told), "x-url": request.url };
  const [url, body] = [`http://127.0.0.1:${webhooks}/`, await request.text()];
  const reply = await miniflare.fetch(url, { method: request.method, headers, body, redirect: "manual" });
  return new Response(null, { status: reply.status, headers: reply.headers });
}

// Returns the entry module, whose default entrypoint has a second name: a binding without a name would lead to the
// router of static assets, which has no scheduled handler.
function direct(entry, shimmed) {
  const folder = path.dirname(entry);
  const contents = `export { default, default as direct } from "./${shimmed ? "shim.mjs" : path.basename(entry)}";`;
  return { type: "ESModule", path: path.join(folder, "direct.mjs"), contents };
}

// Returns the module that wraps the shipped entry.
function shim(entry) {
  const contents = readFileSync(new URL("shim.mjs", import.meta.url), "utf8");
  return { type: "ESModule", path: path.join(path.dirname(entry), "shim.mjs"), contents };
}

// Returns the options with a binding of assets that reads the folder's files, instead of miniflare's four Workers of
// static assets, whose start costs 45 ms of CPU.
function withoutAssets({ assets, ...options }) {
  const file = (request) => new Response(readFileSync(path.join(assets.directory, new URL(request.url).pathname)));
  return { ...options, serviceBindings: { ...options.serviceBindings, [assets.binding]: file } };
}

// Returns the number for a limit whose period never ends: otherwise it ends in the middle of a test now and then. Counts
// are whole numbers, so half of one less admits as many requests.
function endless(limit) {
  return limit - 0.5;
}

// Loads miniflare with a buffer for workerd's configuration that grows by 8 MiB instead of 4 KiB at a time: each
// growth copies all of it with the Worker's code, some hundred times for each edge. And its rate limits know `endless`.
function changed(require, name) {
  const file = require.resolve(name);
  const loaded = new Module(file);
  loaded.filename = file;
  loaded.paths = Module._nodeModulePaths(path.dirname(file));
  let source = readFileSync(file, "utf8");
  for (const [before, after] of [
    ["MIN_SINGLE_SEGMENT_GROWTH = 4096;", "MIN_SINGLE_SEGMENT_GROWTH = 2 ** 23;"],
    [
      "esModule: ratelimit_worker_default()",
      'esModule: ratelimit_worker_default().replace("Date.now()", "(this.limitVal % 1 ? 0 : Date.now())")',
    ],
  ]) {
    if (!source.includes(before)) throw new Error(`miniflare has no ${before}`);
    source = source.replace(before, after);
  }
  loaded._compile(source, file);
  return loaded.exports;
}
