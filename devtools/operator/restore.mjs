// Takes rows from a database's past; the present stays. The database's accounts are closed while it is in its past, and
// what is to be done after an interruption stands in the names of the Worker's bindings, where any machine reads it:
// CLOSED_DB_1 closes, and CLOSED_DB_1_AT_… is the bookmark that leads back.
import { createCipheriv, createDecipheriv, createHmac, randomBytes, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { statement } from "./databases.mjs";
import { person } from "./person.mjs";
import { Platform } from "./platform.mjs";
import { SecretsFile } from "./secrets.mjs";
import { Refusal, asks, say, table } from "./terminal.mjs";

/** The tables whose rows can be taken, parents first. The others are short-lived, a log, or a scan's results. */
const TABLES = [
  "accounts", "directory", "keys", "passkeys", "second_factors", "recovery_codes", "changes", "waiting", "webhooks", "guard_policies",
  "closed_accounts", "allowed_addresses", "plans",
];
const PAGE = 5_000;
/** D1 allows a function 32 arguments. */
const ARGUMENTS = 30;
const SHOWN = 50;
/** Until every instance of the Worker knows that a database is closed, and has ended its last call. */
const SETTLE_MS = Number(process.env.SETTLE_MS ?? 90_000);

export async function restore(settings, [binding, minute, ...rest], { take, end, reason, yes }) {
  const database = settings.databases.find((each) => each.binding === binding);
  if (!database?.id || rest.length > 0) throw new Refusal("restore DB MINUTE, and then restore DB: DB is a binding of wrangler.toml, such as DB_1");
  const platform = await Platform.open(settings.account);
  const past = new Past(settings, platform, binding);
  const door = new Door(settings, platform, database);
  await door.look();
  say(`at      the database ${database.name} (${binding}) of the account ${platform.account}`);
  if (door.isClosed) {
    say(`${binding} is closed: a run was cut, or is under way on another machine${door.back ? `. It leads back to ${door.back}` : ""}`);
    if (!yes && !(await asks("Go back, and open? [y/N] "))) throw new Refusal("nothing was changed", 1);
    await door.open();
  }
  if (minute !== undefined) return read(platform, database, past, door, minute, yes);
  if (end) return past.end();
  const differences = await compare(platform, database, past.read());
  if (take === undefined) return show(differences, past);
  return takeRows(platform, database, past, differences, take, { reason, yes });
}

/** Closes, reads the rows of that minute, goes back, and opens. */
async function read(platform, database, past, door, minute, yes) {
  const time = Date.parse(minute);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(minute) || !(time < Date.now())) throw new Refusal("MINUTE is a time of the last 30 days, in UTC: 2026-11-22T10:00Z");
  const bookmark = await platform.bookmark(database.id, new Date(time).toISOString());
  say(`change  the accounts of ${database.binding} get 503 for some minutes, while it is read as of ${new Date(time).toISOString()}`);
  if (!yes && !(await asks("Go on? [y/N] "))) throw new Refusal("nothing was changed", 1);
  await door.close();
  await platform.restore(database.id, bookmark);
  let rows;
  try {
    rows = await allRows(platform, database);
  } finally {
    await door.open();
  }
  past.write({ minute, rows });
  process.stdout.write(`${database.binding} was read as of ${minute}, and is as before. tools/admin restore ${database.binding} shows what differs\n`);
}

/** What the platform knows of a closed database. */
class Door {
  constructor(settings, platform, { id, binding }) {
    Object.assign(this, { worker: settings.name, platform, id, closed: `CLOSED_${binding}`, at: `CLOSED_${binding}_AT_` });
  }

  async look() {
    const names = (await this.platform.worker(this.worker)).bindings.map(({ name }) => name);
    this.isClosed = names.includes(this.closed);
    this.back = names.find((name) => name.startsWith(this.at))?.slice(this.at.length).replaceAll("_", "-");
  }

  /** Closes, and only then notes what to come back to. */
  async close() {
    await this.platform.addSecret(this.worker, this.closed, "1");
    await sleep(SETTLE_MS);
    this.back = await this.platform.bookmark(this.id);
    say(`${this.closed.slice(7)} is closed. The bookmark that leads back is ${this.back}`);
    await this.platform.addSecret(this.worker, `${this.at}${this.back.replaceAll("-", "_")}`, "1");
  }

  /** Goes back first: opened, a database that is then led back would lose what was written meanwhile. */
  async open() {
    if (this.back) {
      await this.platform.restore(this.id, this.back);
      await this.platform.deleteSecret(this.worker, `${this.at}${this.back.replaceAll("-", "_")}`);
    }
    await this.platform.deleteSecret(this.worker, this.closed);
    say(`${this.closed.slice(7)} is as it was, and open`);
  }
}

/** Each table's columns, its key, and the expression for a row as one text. */
async function shapes(platform, { id }) {
  const shapes = {};
  for (const name of TABLES) {
    const columns = await platform.query(id, [statement(`SELECT name, pk FROM pragma_table_info('${name}') ORDER BY cid`)]);
    const names = columns.map((column) => column.name);
    const parts = [];
    for (let from = 0; from < names.length; from += ARGUMENTS) parts.push(names.slice(from, from + ARGUMENTS));
    const row = `json_array(${parts.map((part) => `json_array(${part.join(", ")})`).join(", ")})`;
    const value = (column) => `json_extract(?1, '$[${Math.floor(names.indexOf(column) / ARGUMENTS)}][${names.indexOf(column) % ARGUMENTS}]')`;
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk).map((column) => column.name);
    shapes[name] = { names, row, value, key };
  }
  return shapes;
}

/** The rows of all tables: {table: {key: text}}. */
async function allRows(platform, database) {
  const all = {};
  for (const [name, { row, key, names }] of Object.entries(await shapes(platform, database))) {
    all[name] = {};
    const place = key.map((column) => names.indexOf(column));
    const after = `(${key.join(", ")}) > (${key.map((_, index) => `?${index + 1}`).join(", ")})`;
    for (let last, page; page === undefined || page.length === PAGE; ) {
      const where = last ? `WHERE ${after}` : "";
      page = await platform.query(database.id, [statement(`SELECT ${row} AS row FROM ${name} ${where} ORDER BY ${key.join(", ")} LIMIT ${PAGE}`, ...(last ?? []))]);
      for (const { row: text } of page) {
        const values = JSON.parse(text).flat();
        last = place.map((index) => values[index]);
        all[name][last.join("/")] = text;
      }
    }
  }
  return all;
}

async function compare(platform, database, { rows: before }) {
  const now = await allRows(platform, database);
  const found = [];
  for (const name of TABLES) {
    for (const key of new Set([...Object.keys(before[name] ?? {}), ...Object.keys(now[name])])) {
      const [past, present] = [before[name]?.[key], now[name][key]];
      if (past !== present) found.push({ table: name, key, past, present });
    }
  }
  return found;
}

/** Shows names and columns, no values; what was shown is kept, for `--take`. */
async function show(differences, past) {
  past.write({ ...past.read(), shown: Object.fromEntries(differences.map(({ table: name, key, present }) => [`${name}/${key}`, present ?? null])) });
  const rows = differences.map(({ table: name, key, past: before, present }) => ({
    row: `${name}/${key}`,
    difference: before === undefined ? "only now" : present === undefined ? "only in the past" : "differs",
  }));
  if (rows.length === 0) return process.stdout.write("nothing differs\n");
  table(rows.slice(0, SHOWN));
  if (rows.length > SHOWN) process.stdout.write(`and ${rows.length - SHOWN} more\n`);
  process.stdout.write(`--take TABLE/KEY, or --take TABLE for all rows of a table, writes rows of ${past.read().minute}; --end deletes what was read\n`);
}

async function takeRows(platform, database, past, differences, take, { reason, yes }) {
  const { shown, minute } = past.read();
  if (!shown) throw new Refusal(`look at the differences first: tools/admin restore ${database.binding}`);
  const isChosen = ({ table: name, key }) => take === name || take === `${name}/${key}`;
  const chosen = differences.filter((each) => isChosen(each) && each.past !== undefined);
  if (chosen.length === 0) throw new Refusal(`${take}: no row of the past differs`);
  for (const { table: name, key } of chosen.slice(0, SHOWN)) say(`change  ${name}/${key} as of ${minute}`);
  if (chosen.length > SHOWN) say(`change  and ${chosen.length - SHOWN} more`);
  if (!yes && !(await asks("Go on? [y/N] "))) throw new Refusal("nothing was changed", 1);
  const all = await shapes(platform, database);
  let kept = 0;
  for (const each of chosen) {
    const name = `${each.table}/${each.key}`;
    const wasShown = name in shown && shown[name] === (each.present ?? null);
    const taken = wasShown && (await takeRow(platform, database, past, all[each.table], each, reason ?? ""));
    if (!taken) kept += 1;
    process.stdout.write(`${name} ${taken ? "is taken" : "is left: it has changed since it was shown"}\n`);
  }
  if (kept > 0) throw new Refusal(`${kept} rows were left`, 1);
}

/** Writes a row if the present one is still the one that was shown, and its audit, in one transaction. */
async function takeRow(platform, { id }, past, { names, row, value, key }, { table: name, past: before, present }, reason) {
  const values = names.map(value);
  const sql =
    present === undefined
      ? `INSERT INTO ${name} (${names.join(", ")}) SELECT ${values.join(", ")} WHERE NOT EXISTS (SELECT 1 FROM ${name} WHERE ${key.map((column) => `${column} = ${value(column)}`).join(" AND ")})`
      : `UPDATE ${name} SET ${names.filter((column) => !key.includes(column)).map((column) => `${column} = ${value(column)}`).join(", ")} WHERE ${key.map((column) => `${column} = ${value(column)}`).join(" AND ")} AND ${row} = ?2`;
  const columns = Object.fromEntries(names.map((column, index) => [column, JSON.parse(before).flat()[index]]));
  const audit = `INSERT INTO operator_actions (id, at, operator, action, account_id, value, reason)
    SELECT ?1, unixepoch(), ?2, 'restore', ?3, ?4, ?5 WHERE changes() > 0 RETURNING 1 AS done`;
  const account = columns.account_id ?? (name === "accounts" ? columns.id : "");
  const rows = await platform.query(id, [
    statement(sql, before, ...(present === undefined ? [] : [present])),
    statement(audit, randomUUID(), past.person, account, name, reason),
  ]);
  return rows.length > 0;
}

/** What was read: a file that only its operator's secret opens. */
class Past {
  constructor(settings, platform, binding) {
    const [name, secret] = person(settings, settings.portal);
    this.person = name;
    this.key = createHmac("sha256", secret).update("rcpt restore").digest();
    this.path = path.join(path.dirname(new SecretsFile(settings.name, platform.account).path), `${settings.name}-${binding}.past`);
  }

  read() {
    if (!fs.existsSync(this.path)) throw new Refusal("nothing was read yet: restore DB MINUTE");
    const sealed = fs.readFileSync(this.path);
    const cipher = createDecipheriv("aes-256-gcm", this.key, sealed.subarray(0, 12));
    cipher.setAuthTag(sealed.subarray(12, 28));
    return JSON.parse(Buffer.concat([cipher.update(sealed.subarray(28)), cipher.final()]).toString());
  }

  write(content) {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.key, nonce);
    const sealed = [cipher.update(JSON.stringify(content)), cipher.final()];
    const fresh = `${this.path}.${process.pid}`;
    fs.mkdirSync(path.dirname(this.path), { recursive: true, mode: 0o700 });
    fs.writeFileSync(fresh, Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]), { mode: 0o600 });
    fs.renameSync(fresh, this.path);
  }

  end() {
    fs.rmSync(this.path, { force: true });
    process.stdout.write(`${this.path} is deleted\n`);
  }
}
