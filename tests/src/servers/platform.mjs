// A stand-in for the part of Cloudflare's API that `make deploy` and wrangler call, with state in memory and databases
// in workerd. It records every call, to test our calls, not the platform's behaviour.
//
// node platform.mjs STATE.json prints its port, and continues with the state in that file, which it updates.
// GET /control returns the state and the calls so far. POST /control accepts
//   cut     {after: N, before: boolean}: the Nth change from now takes effect unless `before` is true. Its reply and
//           all later calls are lost
//   refuse  {path: regular expression, status}: matching calls are refused with this status
//   state   members that replace those of the state; `broken` is the version that answers 500, `ready` the text of a 503
//           of the Worker's readiness, `later` the seconds by which the platform's clock is ahead
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { Miniflare } = require("miniflare");
/** Each for one database: what a deleted one contained mustn't be in the next. */
const SLOTS = ["one", "two", "three", "four", "five", "six"];
// An object with a database takes a text of several statements, like the platform's API and unlike D1's binding.
const WORKER = `import { DurableObject } from "cloudflare:workers";
export class Database extends DurableObject {
  run(statements) {
    const { sql } = this.ctx.storage;
    return this.ctx.storage.transactionSync(() => statements.map((each) => ({ success: true, meta: {}, results: sql.exec(each.sql, ...(each.params ?? [])).toArray() })));
  }
}
export default {
  async fetch(request, env) {
    const { slot, statements } = await request.json();
    try {
      return Response.json(await env.databases.getByName(slot).run(statements));
    } catch (error) {
      return new Response(error.message, { status: 400 });
    }
  },
};`;
const file = process.argv[2];
const databases = { databases: { className: "Database", useSQLite: true } };
const miniflare = new Miniflare({ modules: true, script: WORKER, compatibilityDate: "2026-04-01", durableObjects: databases, durableObjectsPersist: `${file}.databases`, cf: false });

const load = () => JSON.parse(readFileSync(file, "utf8"));
const state = { zones: ["acme.test"], records: [], databases: [], created: 0, namespaces: [], queues: [], workers: {}, domains: [], ...load() };
const save = () => writeFileSync(file, JSON.stringify(state));
const calls = [];
let cut, refuse;

const worker = (name) => state.workers[name];
const GONE = { status: 404, errors: [{ code: 10007, message: "This Worker does not exist on your account." }] };
/** Returns the requested page of a list, by default its first 20 entries. */
const page = (all, query) => {
  const size = Number(query.get("per_page") ?? 20);
  const start = (Number(query.get("page") ?? 1) - 1) * size;
  return all.slice(start, start + size);
};
const removed = (list, member, id) => {
  state[list] = state[list].filter((each) => each[member] !== id);
  return { result: null };
};
const taken = (message) => ({ status: 400, errors: [{ code: 7502, message }] });

/** A text of several statements counts as one. */
const statementsOf = ({ sql, params, batch }) => batch ?? [{ sql, params }];

async function query(id, json) {
  const database = state.databases.find((each) => each.uuid === id);
  if (!database) return { status: 404, errors: [{ code: 7404, message: "The database could not be found" }] };
  const body = JSON.stringify({ slot: database.slot, statements: statementsOf(json) });
  const reply = await miniflare.dispatchFetch("http://d1/", { method: "POST", body });
  if (!reply.ok) return { status: 400, errors: [{ code: 7500, message: await reply.text() }] };
  return { result: await reply.json() };
}

/** All rows of a database, by table. Restoring them stands in for time travel, which is exact to the minute. */
async function snapshot(id) {
  const { result } = await query(id, { sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name <> 'd1_migrations'" });
  const tables = {};
  for (const { name } of result[0].results) tables[name] = (await query(id, { sql: `SELECT * FROM ${name}` })).result[0].results;
  return tables;
}

/** Bookmarks sort by their time: seconds in hexadecimal, as the platform's clock has them, and a count. */
async function bookmark(id) {
  const now = Math.floor(Date.now() / 1000) + (state.later ?? 0);
  state.bookmarks ??= [];
  const name = `${now.toString(16).padStart(8, "0")}-${state.bookmarks.length.toString(16).padStart(8, "0")}`;
  state.bookmarks.push({ id, name, now, tables: await snapshot(id) });
  return name;
}

async function timeTravel(id, name) {
  const found = state.bookmarks.find((each) => each.id === id && each.name === name);
  if (!found) return { status: 400, errors: [{ code: 7400, message: "invalid bookmark" }] };
  const previous = await bookmark(id);
  const insert = (table, row) => ({ sql: `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row).map(() => "?").join(", ")})`, params: Object.values(row) });
  const batch = [{ sql: "PRAGMA defer_foreign_keys = on" }];
  for (const table of Object.keys(await snapshot(id))) batch.push({ sql: `DELETE FROM ${table}` });
  for (const [table, rows] of Object.entries(found.tables)) for (const row of rows) batch.push(insert(table, row));
  const reply = await query(id, { batch });
  return reply.errors ? reply : { bookmark: await bookmark(id), previous_bookmark: previous, message: "Database restored successfully" };
}

/** Stores an upload and returns its version. Earlier secrets are kept, as Cloudflare documents for every deployment. */
async function upload(request, name) {
  const form = await new Response(request.body, { headers: { "content-type": request.type } }).formData();
  const metadata = JSON.parse(form.get("metadata"));
  const before = worker(name) ?? { bindings: [], versions: [], crons: [] };
  const named = new Set(metadata.bindings.map((each) => each.name));
  const kept = before.bindings.filter((each) => !named.has(each.name) && (metadata.keep_bindings ?? ["secret_text"]).includes(each.type));
  const version = { id: randomUUID(), annotations: metadata.annotations ?? {} };
  const bindings = [...metadata.bindings, ...kept];
  const secrets = { ...before.secrets };
  for (const each of metadata.bindings) if (each.type === "secret_text") secrets[each.name] = [...(secrets[each.name] ?? []), each.text];
  state.workers[name] = { ...before, bindings, secrets, versions: [...before.versions, version] };
  return version;
}

const ROUTES = [
  ["GET /accounts", ({ query }) => page([{ id: "a".repeat(32), name: "Acme" }], query)],
  ["GET /user", () => ({ email: "operator@acme.test" })],
  ["GET /memberships", () => [{ account: { id: "a".repeat(32), name: "Acme" } }]],
  ["GET /zones", ({ query }) => state.zones.filter((name) => !query.get("name") || query.get("name") === name).map((name) => ({ id: name, name }))],
  ["GET /zones/:zone/dns_records", ({ query }) => state.records.filter(({ name }) => name === query.get("name"))],
  ["GET /zones/:zone/workers/routes", () => []],
  ["GET /a/d1/database", ({ query }) => page(state.databases.filter(({ name }) => !query.get("name") || query.get("name") === name), query)],
  ["POST /a/d1/database", ({ json }) => {
    if (state.databases.some(({ name }) => name === json.name)) return taken("Database with the same name already exists");
    const database = { uuid: randomUUID(), name: json.name, jurisdiction: json.jurisdiction ?? null, slot: SLOTS[state.created++], version: "production" };
    state.databases.push(database);
    return database;
  }],
  ["GET /a/d1/database/:id", ({ id }) => state.databases.find(({ uuid }) => uuid === id)],
  ["GET /a/d1/database/:id/time_travel/bookmark", async ({ id, query: asked }) => {
    const time = asked.get("timestamp");
    if (!time) return { bookmark: await bookmark(id) };
    const before = (state.bookmarks ?? []).filter((each) => each.id === id && each.now <= Date.parse(time) / 1000);
    return before.length > 0 ? { bookmark: before.at(-1).name } : { status: 400, errors: [{ code: 7400, message: "no bookmark" }] };
  }],
  ["POST /a/d1/database/:id/time_travel/restore", ({ id, query: asked }) => timeTravel(id, asked.get("bookmark"))],
  ["DELETE /a/d1/database/:id", ({ id }) => removed("databases", "uuid", id)],
  ["POST /a/d1/database/:id/query", ({ id, json }) => query(id, json)],
  ["GET /a/storage/kv/namespaces", ({ query }) => page(state.namespaces, query)],
  ["POST /a/storage/kv/namespaces", ({ json }) => {
    if (state.namespaces.some(({ title }) => title === json.title)) return taken("a namespace with this account ID and title already exists");
    state.namespaces.push({ id: randomUUID().replaceAll("-", ""), title: json.title });
    return state.namespaces.at(-1);
  }],
  ["DELETE /a/storage/kv/namespaces/:id", ({ id }) => removed("namespaces", "id", id)],
  ["GET /a/queues", ({ query }) => page(state.queues.filter(({ queue_name }) => !query.get("name") || query.getAll("name").includes(queue_name)), query)],
  ["POST /a/queues", ({ json }) => {
    if (state.queues.some(({ queue_name }) => queue_name === json.queue_name)) return taken("Queue name is already taken");
    state.queues.push({ queue_id: randomUUID(), ...json, consumers: [], producers: [] });
    return state.queues.at(-1);
  }],
  ["POST /a/queues/:id/consumers", ({ id, json }) => {
    const consumer = { consumer_id: randomUUID(), ...json, script: json.script_name };
    state.queues.find(({ queue_id }) => queue_id === id).consumers.push(consumer);
    return consumer;
  }],
  ["DELETE /a/queues/:id", ({ id }) => removed("queues", "queue_id", id)],
  ["DELETE /a/queues/:id/consumers/:consumer", ({ id, consumer }) => {
    const queue = state.queues.find(({ queue_id }) => queue_id === id);
    queue.consumers = queue.consumers.filter(({ consumer_id }) => consumer_id !== consumer);
    return { result: null };
  }],
  ["PUT /a/queues/:id/consumers/:consumer", ({ json }) => json],
  ["GET /a/workers/services/:name", ({ name }) => (worker(name) ? { id: name, default_environment: { environment: "production", script: { tag: name, tags: [], last_deployed_from: "wrangler" } } } : GONE)],
  ["DELETE /a/workers/services/:name", ({ name }) => {
    delete state.workers[name];
    state.domains = state.domains.filter(({ service }) => service !== name);
    return { result: null };
  }],
  ["GET /a/workers/scripts/:name/references", () => ({ services: { incoming: [], outgoing: [] }, durable_objects: [], dispatch_outbounds: [] })],
  ["GET /a/workers/tails/by-consumer/:name", () => []],
  ["GET /a/workers/scripts/:name/settings", ({ name }) => worker(name) ?? GONE],
  ["PATCH /a/workers/scripts/:name/script-settings", ({ json }) => json],
  ["GET /a/workers/scripts/:name/deployments", ({ name }) => ({ deployments: worker(name)?.deployed ? [{ source: "wrangler", versions: [{ version_id: worker(name).deployed, percentage: 100 }] }] : [] })],
  ["POST /a/workers/scripts/:name/deployments", ({ name, json }) => {
    worker(name).deployed = json.versions[0].version_id;
    return { id: randomUUID() };
  }],
  ["GET /a/workers/scripts/:name/versions/:id", ({ name, id }) => worker(name).versions.find((each) => each.id === id)],
  ["POST /a/workers/scripts/:name/versions", async ({ name, request }) => ({ ...(await upload(request, name)), resources: { script: { etag: "e" } }, startup_time_ms: 1 })],
  ["PUT /a/workers/scripts/:name", async ({ name, request }) => {
    const version = await upload(request, name);
    worker(name).deployed = version.id;
    return { id: name, etag: "e", deployment_id: version.id, startup_time_ms: 1 };
  }],
  ["PUT /a/workers/scripts/:name/secrets", ({ name, json }) => {
    const each = worker(name);
    each.bindings = [...each.bindings.filter((binding) => binding.name !== json.name), { type: json.type, name: json.name }];
    each.secrets[json.name] = [...(each.secrets[json.name] ?? []), json.text];
    return { name: json.name, type: json.type };
  }],
  ["DELETE /a/workers/scripts/:name/secrets/:secret", ({ name, secret }) => {
    const each = worker(name);
    if (!each.bindings.some((binding) => binding.name === secret)) return { status: 404, errors: [{ code: 10056, message: "Secret not found" }] };
    each.bindings = each.bindings.filter((binding) => binding.name !== secret);
    return { result: null };
  }],
  ["POST /a/workers/scripts/:name/assets-upload-session", ({ json }) => ({ jwt: "session", buckets: [Object.values(json.manifest).map(({ hash }) => hash)] })],
  ["POST /a/workers/assets/upload", () => ({ status: 201, result: { jwt: "complete" } })],
  ["GET /a/workers/scripts/:name/subdomain", () => ({ enabled: false, previews_enabled: false })],
  ["POST /a/workers/scripts/:name/subdomain", ({ json }) => json],
  ["GET /a/workers/subdomain", () => ({ subdomain: "acme" })],
  ["GET /a/workers/domains", ({ query }) => state.domains.filter(({ hostname }) => hostname === query.get("hostname"))],
  // Wrangler calls this if its output is a terminal.
  ["POST /a/workers/scripts/:name/domains/changeset", () => ({ added: [], removed: [], updated: [], conflicting: [] })],
  ["PUT /a/workers/scripts/:name/domains/records", ({ name, json }) => {
    for (const { hostname } of json.origins) {
      state.domains = state.domains.filter((each) => each.hostname !== hostname);
      state.domains.push({ id: hostname, hostname, service: name });
    }
    return json;
  }],
  ["GET /a/workers/scripts/:name/schedules", ({ name }) => ({ schedules: worker(name).crons.map((cron) => ({ cron })) })],
  ["PUT /a/workers/scripts/:name/schedules", ({ name, json }) => {
    worker(name).crons = json.map(({ cron }) => cron);
    return { schedules: json };
  }],
].map(([name, handler]) => {
  const [method, path] = name.split(" ");
  return { method, pattern: new RegExp(`^${path.replace(/^\/a\//, "/accounts/[0-9a-f]{32}/").replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`), handler };
});

async function answer(request) {
  const url = new URL(request.url, "http://api");
  if (url.pathname.startsWith("/v1/") && state.broken && state.broken === worker("rcpt")?.deployed) return { raw: 500, text: "internal" };
  if (url.pathname === "/v1/health/ready") return { raw: state.deployed === false || state.ready ? 503 : 200, text: state.ready };
  if (url.pathname === "/control") {
    if (request.method === "POST") {
      const order = JSON.parse(request.body);
      ({ cut, refuse } = order);
      Object.assign(state, order.state);
      save();
    }
    return { result: { state, calls } };
  }
  const changes = request.method !== "GET" && !(url.pathname.endsWith("/query") && statementsOf(JSON.parse(request.body)).every(({ sql }) => /^\s*SELECT/i.test(sql)));
  if (cut?.isOver) return "lost";
  calls.push({ method: request.method, path: url.pathname + url.search, changes });
  const isLast = cut && changes && (cut.after -= 1) === 0;
  if (isLast) cut.isOver = true;
  if (isLast && cut.before) return "lost";
  if (refuse && new RegExp(refuse.path).test(`${request.method} ${url.pathname}`)) return { status: refuse.status, errors: [{ code: 10000, message: "Authentication error" }] };
  const route = ROUTES.find(({ method, pattern }) => method === request.method && pattern.test(url.pathname));
  if (!route) return { status: 404, errors: [{ code: 7000, message: `No route for ${request.method} ${url.pathname}` }] };
  const json = /^[{[]/.test(request.body.subarray(0, 1).toString()) ? JSON.parse(request.body) : undefined;
  const reply = await route.handler({ ...url.pathname.match(route.pattern).groups, query: url.searchParams, json, request });
  save();
  if (isLast) return "lost";
  return reply === undefined ? { status: 404, errors: [{ code: 7404, message: "not found" }] } : reply.errors || reply.status || reply.result ? reply : { result: reply };
}

const server = createServer((incoming, outgoing) => {
  // Our own programs mustn't use a connection again: one that lies idle while wrangler runs is closed meanwhile.
  const { socket, headers } = incoming;
  if (headers["user-agent"] === "node" && socket.wasUsed) return socket.destroy();
  socket.wasUsed = true;
  const parts = [];
  incoming.on("data", (part) => parts.push(part));
  incoming.on("end", async () => {
    const request = { method: incoming.method, url: incoming.url, type: incoming.headers["content-type"], body: Buffer.concat(parts) };
    const reply = await answer(request).catch((error) => ({ status: 500, errors: [{ code: 1, message: error.stack }] }));
    if (reply === "lost") return incoming.socket.destroy();
    const date = new Date(Date.now() + 1_000 * (state.later ?? 0)).toUTCString();
    outgoing.writeHead(reply.raw ?? reply.status ?? 200, { "content-type": "application/json", date });
    outgoing.end(reply.raw ? (reply.text ?? "{}") : JSON.stringify({ success: !reply.errors, errors: reply.errors ?? [], messages: [], result: reply.result ?? null }));
  });
});
await miniflare.ready;
server.listen(0, "127.0.0.1", () => process.stdout.write(`listening ${server.address().port}\n`));
