// The databases of wrangler.toml: the local ones of `make dev`, in a separate runtime, and the deployed ones, through
// Cloudflare's API. A statement is {sql, params}; a list of them runs as one transaction.
import { createRequire } from "node:module";
import path from "node:path";
import { Platform } from "./platform.mjs";
import { Settings } from "./settings.mjs";

const WORKER = `export default {
  async fetch(request, env) {
    try {
      const { database, statements } = await request.json();
      const bound = statements.map(({ sql, params }) => env[database].prepare(sql).bind(...params));
      return Response.json((await env[database].batch(bound)).at(-1).results);
    } catch (error) {
      return new Response(error.message, { status: 400 });
    }
  },
};`;

// A plain `import` would first search the whole package for exports, which takes half a second.
const require = createRequire(import.meta.url);

/** A statement; each parameter is a text or a number. */
export const statement = (sql, ...params) => ({ sql, params });

/** The table of applied migrations, as wrangler makes it. */
export const MIGRATIONS = `CREATE TABLE IF NOT EXISTS d1_migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;

/** Databases on this machine. Wrangler isn't used, because it takes seconds to load. */
export class LocalDatabases {
  #ids;
  #folder;
  #runtime;

  /** `folder` contains the state, as wrangler's --persist-to. */
  constructor(folder = ".wrangler/state", settings = new Settings()) {
    // Locally, the id names the file.
    this.#ids = Object.fromEntries(settings.toml.d1_databases.map(({ binding, database_id }) => [binding, database_id]));
    this.#folder = folder;
  }

  /** The bindings; the first database contains the directory. */
  get names() {
    return Object.keys(this.#ids);
  }

  /** Runs statements as one transaction, and returns the rows of the last statement. */
  async run(database, statements) {
    const { Miniflare } = require("miniflare");
    this.#runtime ??= new Miniflare({
      modules: true,
      script: WORKER,
      compatibilityDate: "2026-04-01",
      d1Databases: this.#ids,
      defaultPersistRoot: path.join(this.#folder, "v3"),
      cf: false,
      // The runtime's long message about a locked database is suppressed, since the error is reported anyway.
      handleRuntimeStdio: (...streams) => streams.forEach((stream) => stream.resume()),
    });
    const body = JSON.stringify({ database, statements });
    const reply = await this.#runtime.dispatchFetch("http://local/", { method: "POST", body });
    if (!reply.ok) throw new Error(await reply.text());
    return reply.json();
  }

  /** Ends the runtime, if it was started. */
  async close() {
    await this.#runtime?.dispose();
  }
}

/** Deployed databases of the Cloudflare account. */
export class RemoteDatabases {
  #ids;
  #account;
  #platform;

  /** `file` is the wrangler.toml of the deployed service. */
  constructor(file) {
    const settings = new Settings(file);
    this.#ids = Object.fromEntries(settings.databases.map(({ binding, id }) => [binding, id]));
    this.#account = settings.account;
  }

  get names() {
    return Object.keys(this.#ids);
  }

  async run(database, statements) {
    const id = this.#ids[database];
    if (!id) throw new Error("wrangler.toml has the example's id: make deploy creates the database");
    this.#platform ??= Platform.open(this.#account);
    return (await this.#platform).query(id, statements);
  }

  async close() {}
}
