// The shipped Worker, untouched, behind bindings that a test counts, delays and fails. edge.mjs loads this file only
// for a test that requests it.
//
// POST /v1/__shim {faults: [{part, database, statements, skip, times, delayMs, error, late, swallow}], reset, quiet,
// statementsPerSecond, busyMs} returns the counts so far, the URLs that the cache was asked to store, the
// messages sent to the queue, and the emails with their headers, which miniflare doesn't show. In a fault,
//   part        is d1, kv, cache, queue or mail
//   database    is the number of one database; null: any
//   statements  are the verb and table of each statement of a round trip to D1 ("update accounts"), in any order;
//               none: every round trip
//   skip        is the number of calls to let through; the next `times` calls fail
//   late        true: the call fails after it has taken effect, like a lost reply
//   swallow     true: the call reports success without any effect
// `statementsPerSecond` limits each database, as if it were far busier. `reset` clears the counts. `reset` and `quiet`
// first wait for background work (`waitUntil`) of earlier responses, whose calls also count.
// `busyMs` blocks the isolate. With `park`, verbs and tables as above, each round trip to D1 that has one of these
// statements waits until `release` names it: {trip, late}, and with `late` it then fails after it has taken effect. The
// answer lists the round trips that wait. `end` ends the scheduled runs that were cut: whatever they still do fails
// without effect. The header `continent` of a request replaces Cloudflare's data about its client.
import { WorkerEntrypoint } from "cloudflare:workers";
import Worker from "./index.js";

const none = () => ({
  d1_trips: 0,
  d1_statements: 0,
  d1_rows_written: 0,
  d1_rows_read: 0,
  d1_trips_by_database: {},
  d1_operations: {},
  d1_identifications: 0,
  kv_reads: 0,
  kv_writes: 0,
  cache_reads: 0,
  cache_writes: 0,
  queue_sends: 0,
  queue_messages: 0,
  messages: [],
  cache_urls: [],
  mails: [],
});
let counts = none();
let park = [];
let parked = [];
let trips = 0;
let runs = 0;
let ending = false;
let faults = [];
let pace = null;
// Time in ms at which each database will have finished all statements so far.
const done = new Map();

// Number of tasks that continue after their response.
let background = 0;

// `Object.create` keeps the other members of the platform's context.
function watched(context) {
  const waitUntil = (work) => {
    background += 1;
    context.waitUntil(Promise.resolve(work).finally(() => (background -= 1)));
  };
  return Object.create(context, { waitUntil: { value: waitUntil } });
}

async function quiet() {
  for (let tries = 0; background > 0; tries += 1) {
    if (tries === 6_000) throw new Error("background work goes on for more than a minute");
    await scheduler.wait(10);
  }
}

// Otherwise a run that was cut would give up its database after ten seconds, and go on.
async function end() {
  ending = true;
  for (let tries = 0; runs > 0; tries += 1) {
    if (tries === 6_000) throw new Error("a scheduled run goes on for more than a minute");
    await scheduler.wait(10);
  }
  ending = false;
}

function alive() {
  if (ending) throw new Error("the isolate has ended");
}

async function paced(database, statements) {
  if (!pace) return;
  const begins = Math.max(Date.now(), done.get(database) ?? 0);
  const ends = begins + (statements * 1000) / pace;
  done.set(database, ends);
  await scheduler.wait(ends - Date.now());
}

async function through(part, statements, call, database = null) {
  alive();
  const fault = faults.find(
    (fault) =>
      fault.part === part &&
      fault.times > 0 &&
      (fault.database ?? database) === database &&
      concerns(fault.statements ?? [], statements),
  );
  const isParked = part === "d1" && statements.some((sql) => park.includes(operation(sql)));
  const late = isParked && (await waiting(statements.map(operation)));
  const strikes = fault && (fault.skip ?? 0) === 0;
  if (strikes) fault.times -= 1;
  else if (fault) fault.skip -= 1;
  if (strikes && fault.delayMs) await scheduler.wait(fault.delayMs);
  if (strikes && fault.swallow) return undefined;
  if (strikes && fault.error && !fault.late) throw new Error(fault.error);
  const result = await call();
  if (strikes && fault.error) throw new Error(fault.error);
  if (late) throw new Error("parked");
  return result;
}

// A promise that another request resolves has to be polled.
async function waiting(statements) {
  const mine = { trip: (trips += 1), statements };
  parked.push(mine);
  while (!mine.released || mine.released.forgotten) {
    await scheduler.wait(5);
    alive();
  }
  return mine.released.late;
}

function release(named) {
  const mine = parked.find(({ trip }) => trip === named.trip);
  parked = parked.filter((one) => one !== mine);
  if (mine) mine.released = named;
}

const concerns = (wanted, statements) =>
  wanted.length === 0 || `${wanted.toSorted()}` === `${statements.map(operation).toSorted()}`;

const VERBS = { "INSERT INTO": "insert", UPDATE: "update", "DELETE FROM": "delete", FROM: "select" };

// Returns the verb and the table of a statement in any format: the first verb outside brackets, which skips WITH
// clauses and subqueries.
function operation(sql) {
  let outer = sql.replaceAll(/'[^']*'|--.*/g, " ");
  for (let before = ""; before !== outer; ) {
    before = outer;
    outer = outer.replaceAll(/\([^()]*\)/g, " ");
  }
  outer = outer.replaceAll(/\s+/g, " ").replace(/INSERT OR \w+ INTO/i, "INSERT INTO");
  const [, verb, table] = /\b(INSERT INTO|UPDATE|DELETE FROM|FROM) (\w+)/i.exec(outer) ?? [];
  return verb && `${VERBS[verb.toUpperCase()]} ${table}`;
}

// The verb and the table of each statement that has been sent.
const operations = new Map();

function count(database, statements) {
  counts.d1_trips += 1;
  counts.d1_statements += statements.length;
  for (const sql of statements) {
    if (!operations.has(sql)) operations.set(sql, operation(sql));
    const name = operations.get(sql);
    counts.d1_operations[name] = (counts.d1_operations[name] ?? 0) + 1;
  }
  counts.d1_trips_by_database[database] = (counts.d1_trips_by_database[database] ?? 0) + 1;
}

// The first query of an isolate to each database asks for the database's number. When it is sent depends on earlier
// requests, so this query is counted separately and never fails.
const identifies = ({ sql }) => /^(SELECT number FROM|INSERT INTO) this_database\b/.test(sql);

function identified(call) {
  counts.d1_identifications += 1;
  return call();
}

// Counts the rows that D1 bills. `first` doesn't report rows, but the Worker doesn't call `first`.
function counted(results) {
  for (const { meta } of results) {
    counts.d1_rows_written += meta.rows_written;
    counts.d1_rows_read += meta.rows_read;
  }
  return results;
}

// The Worker identifies its bindings by their class names.
class D1PreparedStatement {
  constructor(real, sql, database) {
    this.real = real;
    this.sql = sql;
    this.database = database;
  }
  bind(...values) {
    return new D1PreparedStatement(this.real.bind(...values), this.sql, this.database);
  }
  first() {
    throw new Error("not counted");
  }
  run() {
    return this.trip(() => this.real.run());
  }
  all() {
    return this.trip(() => this.real.all());
  }
  async trip(call) {
    if (identifies(this)) return identified(call);
    count(this.database, [this.sql]);
    await paced(this.database, 1);
    return through("d1", [this.sql], async () => counted([await call()])[0], this.database);
  }
}

class D1Database {
  constructor(real, number) {
    this.real = real;
    this.number = number;
  }
  prepare(sql) {
    return new D1PreparedStatement(this.real.prepare(sql), sql, this.number);
  }
  async batch(statements) {
    const call = async () => counted(await this.real.batch(statements.map(({ real }) => real)));
    if (statements.every(identifies)) return identified(call);
    const texts = statements.map(({ sql }) => sql);
    count(this.number, texts);
    await paced(this.number, statements.length);
    return through("d1", texts, call, this.number);
  }
}

class KvNamespace {
  constructor(real) {
    this.real = real;
  }
  get(...rest) {
    counts.kv_reads += 1;
    return through("kv", [], () => this.real.get(...rest));
  }
  put(...rest) {
    counts.kv_writes += 1;
    return through("kv", [], () => this.real.put(...rest));
  }
  getWithMetadata() {
    throw new Error("not counted");
  }
  list() {
    throw new Error("not counted");
  }
  delete() {
    throw new Error("not counted");
  }
}

class WorkerQueue {
  constructor(real) {
    this.real = real;
  }
  sendBatch(messages, options) {
    counts.queue_sends += 1;
    counts.queue_messages += messages.length;
    counts.messages.push(...messages.map(({ body }) => body));
    return through("queue", [], () => this.real.sendBatch(messages, options));
  }
  send() {
    throw new Error("not counted");
  }
}

class SendEmail {
  constructor(real) {
    this.real = real;
  }
  send(message) {
    const { to, subject, headers } = message;
    counts.mails.push({ to, subject, headers });
    return through("mail", [], () => this.real.send(message));
  }
}

const { match, put } = Cache.prototype;
Cache.prototype.match = function (...rest) {
  counts.cache_reads += 1;
  return through("cache", [], () => match.apply(this, rest));
};
Cache.prototype.put = function (...rest) {
  counts.cache_writes += 1;
  counts.cache_urls.push(String(rest[0].url ?? rest[0]));
  return through("cache", [], () => put.apply(this, rest));
};

function databases(env) {
  const names = Object.keys(env).filter((name) => /^DB(_|$)/.test(name));
  const number = (name) => Number(name.slice("DB_".length));
  return Object.fromEntries(names.map((name) => [name, new D1Database(env[name], number(name))]));
}

let shimmed;

export default class extends WorkerEntrypoint {
  async fetch(request) {
    if (new URL(request.url).pathname === "/v1/__shim") {
      const told = await request.json();
      if (told.reset || told.quiet) await quiet();
      if (told.release) release(told.release);
      if (told.park) park = told.park;
      if (told.end) await end();
      const answer = Response.json({ ...counts, parked });
      if (told.reset) counts = none();
      if (told.faults) faults = told.faults;
      if (told.statementsPerSecond !== undefined) pace = told.statementsPerSecond;
      const until = Date.now() + (told.busyMs ?? 0);
      while (Date.now() < until);
      return answer;
    }
    const continent = request.headers.get("continent");
    const sent = continent ? new Request(request, { cf: { continent } }) : request;
    return Worker.fetch(sent, this.shimmed(), watched(this.ctx));
  }
  queue(batch) {
    return Worker.queue(batch, this.shimmed(), watched(this.ctx));
  }
  async scheduled(controller) {
    runs += 1;
    try {
      return await Worker.scheduled(controller, this.shimmed(), watched(this.ctx));
    } finally {
      runs -= 1;
    }
  }
  shimmed() {
    const { VERDICTS, MAIL, SCANS } = this.env;
    shimmed ??= {
      ...this.env,
      ...databases(this.env),
      VERDICTS: new KvNamespace(VERDICTS),
      MAIL: new SendEmail(MAIL),
      SCANS: new WorkerQueue(SCANS),
    };
    return shimmed;
  }
}
