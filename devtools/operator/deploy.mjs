#!/usr/bin/env node
// Deploys or updates the service in a Cloudflare account: deploy [--config FILE] [--dry-run]. It reads at most five
// values from the environment or the terminal, and writes all but JURISDICTION to wrangler.toml. Another run
// continues where the last one ended, and changes nothing if everything is up to date. docs/operating/deploy.md
// describes a first run.
// --dry-run needs no account: it lists the example values left in wrangler.toml and the secrets that the Worker needs,
// and exits with 1 while a value is missing.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { MIGRATIONS, statement } from "./databases.mjs";
import { Platform, ROOT, Stop, WRANGLER } from "./platform.mjs";
import { rehearse } from "./rehearsal.mjs";
import { SecretsFile, isAdmin, named, neededRings, newValue, ownAdmin, ringOf } from "./secrets.mjs";
import { JURISDICTIONS, Settings } from "./settings.mjs";

const READY_SECONDS = 180;
const changes = [];

const say = (line) => process.stdout.write(`${line}\n`);
const did = (line) => {
  changes.push(line);
  say(`[deploy] ${line}`);
};

try {
  await deploy();
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  process.stderr.write(`deploy: ${error.message}\n`);
  if (changes.length > 0) process.stderr.write("What was done stays, and another run goes on from there.\n");
  process.exitCode = 1;
}

async function deploy() {
  const { values } = parseArgs({ options: { config: { type: "string" }, "dry-run": { type: "boolean" } } });
  const settings = new Settings(values.config);
  if (values["dry-run"]) return tellWhatIsMissing(settings);
  for (const name of await settings.complete()) did(`${name} is written to ${settings.file}`);
  const platform = await Platform.open(settings.account);

  // Reads the whole state of the account before it changes anything.
  const account = await look(platform, settings);
  const file = new SecretsFile(settings.name, platform.account);
  const secrets = settleSecrets(account, file, platform.now);
  const mistakes = (await isLive(platform, settings, account, secrets.toSet)) ? [] : await rehearse(settings);
  if (mistakes.length > 0) throw new Stop(`the Worker doesn't accept ${settings.file}:\n${mistakes.map((each) => `  ${each}`).join("\n")}`);

  if (secrets.made.length > 0) {
    file.write(secrets.kept);
    did(`new secrets are in ${file.path}: ${secrets.made.join(", ")}`);
  }
  await create(platform, settings, account);
  await migrate(platform, settings, account);
  await publish(platform, settings, account, secrets.toSet);
  if (changes.length === 0) say("Nothing has changed: the account is as wrangler.toml and this build say.");
  await ready(settings);
  tellTheRest(settings, file);
}

async function tellWhatIsMissing(settings) {
  const { missing } = settings;
  for (const line of missing) say(`missing  ${line}`);
  const mistakes = await rehearse(settings);
  for (const line of mistakes) say(`wrong    ${line}`);
  if (mistakes.length > 0) process.exitCode = 1;
  say(`needed   secrets: ${[...neededRings().map((ring) => `${ring}_…`), ownAdmin()].join(", ")}`);
  if (missing.length === 0) return;
  say("make deploy creates, or asks for, what is missing.");
  process.exitCode = 1;
}

/** Stops if a name in wrangler.toml is already used by something else. */
async function look(platform, settings) {
  const databases = [];
  const listed = await platform.databases();
  for (const { binding, name, id } of settings.databases) {
    const found = listed.find((each) => (id ? each.uuid === id : each.name === name));
    if (id && !found)
      throw new Stop(`${binding}: the account ${platform.account} has no database ${id}, which wrangler.toml names. Is it the right account?`);
    databases.push({ binding, name, id: found?.uuid, jurisdiction: found && (found.jurisdiction ?? ""), ...(found && (await contents(platform, found))) });
  }
  const jurisdiction = settleJurisdiction(databases, settings);
  const namespaces = await platform.namespaces();
  const stores = settings.stores.map(({ binding, title, id }) => {
    const found = namespaces.find((each) => (id ? each.id === id : each.title === title));
    if (id && !found) throw new Stop(`${binding}: the account has no namespace ${id}, which wrangler.toml names. Is it the right account?`);
    return { binding, title, id: found?.id };
  });
  const queues = (await platform.queues()).filter(({ queue_name }) => queue_name === settings.queue);
  const other = queues.flatMap(({ consumers }) => consumers ?? []).map(({ script, service }) => script ?? service).find((name) => name !== settings.name);
  if (other) throw new Stop(`the queue ${settings.queue} is taken: ${other} reads it. Give it another name in wrangler.toml`);
  const worker = await platform.worker(settings.name);
  const ids = databases.map(({ id }) => id);
  const bound = worker?.bindings.filter(({ type }) => type === "d1").map(({ id, database_id }) => database_id ?? id);
  // Stops only if every binding has an id: a binding without an id proves nothing.
  if (bound?.every((id) => id && !ids.includes(id)))
    throw new Stop(`the name ${settings.name} is taken: the account has a Worker of this name with other databases. Change \`name\` in wrangler.toml`);
  const domain = await platform.domain(settings.host);
  if (domain && domain.service !== settings.name)
    throw new Stop(`${settings.host} is taken: it leads to the Worker ${domain.service}. Choose another PORTAL_URL, or remove it there`);
  // Unless its output is a terminal, wrangler would replace such a record without a message.
  if (!domain && settings.customDomain && (await platform.records(settings.host)).length > 0)
    throw new Stop(`${settings.host} is taken: it has a DNS record. Remove it first, or choose another PORTAL_URL`);
  return { databases, jurisdiction, stores, queue: queues[0], worker, domain };
}

/** A database's applied migrations, and whether it has or had accounts. Stops if its tables aren't the service's. */
async function contents(platform, { uuid, name }) {
  const query = (sql) => platform.query(uuid, [statement(sql)]);
  const rows = await query("SELECT name FROM sqlite_master WHERE type = 'table'");
  const tables = rows.map((row) => row.name).filter((table) => !/^(_cf_|sqlite_)/.test(table));
  const applied = tables.includes("d1_migrations") ? (await query("SELECT name FROM d1_migrations")).map((row) => row.name) : [];
  if (tables.some((table) => table !== "d1_migrations") && !applied.includes("0001.sql"))
    throw new Stop(`the name ${name} is taken: the database has tables of something else. Change \`database_name\` in wrangler.toml`);
  let isInUse = false;
  for (const table of ["accounts", "closed_accounts"].filter((each) => tables.includes(each)))
    isInUse ||= (await query(`SELECT 1 AS found FROM ${table} LIMIT 1`)).length > 0;
  return { applied, isInUse };
}

function settleJurisdiction(databases, settings) {
  const existing = databases.filter(({ id }) => id);
  const wanted = settings.jurisdiction ?? existing[0]?.jurisdiction ?? "";
  const other = existing.find(({ jurisdiction }) => jurisdiction !== wanted);
  if (other)
    throw new Stop(`JURISDICTION is ${wanted || "none"}, and the database ${other.name} has ${other.jurisdiction || "none"}. It can't be changed later: keep it, or begin with other names`);
  if (!JURISDICTIONS.includes(wanted)) throw new Stop(`JURISDICTION is one of ${JURISDICTIONS.filter(Boolean).join(", ")}, or empty`);
  return wanted;
}

/**
 * The secrets that the Worker lacks, from the file or newly generated. Stops if new secrets would end all keys and
 * sessions of a live service.
 */
function settleSecrets({ databases, worker }, file, now) {
  const present = worker?.bindings.filter(({ type }) => type === "secret_text").map(({ name }) => name) ?? [];
  const lacking = neededRings().filter((ring) => !present.some((name) => ringOf(name) === ring));
  const lacksAdmin = !present.some(isAdmin);
  if (lacking.length === 0 && !lacksAdmin) return { made: [], toSet: {} };
  const kept = file.read();
  const toMake = lacking.filter((ring) => !Object.keys(kept).some((name) => ringOf(name) === ring));
  if (toMake.length > 0 && databases.some(({ isInUse }) => isInUse))
    throw new Stop(
      `${toMake.join(", ")}: the Worker lacks ${toMake.length === 1 ? "it" : "them"}, and the databases have accounts, which new secrets would shut out. ` +
        `Write what you have kept to ${file.path}, a line NAME=value each, and run this again`,
    );
  const fresh = {};
  for (const ring of toMake) {
    const value = newValue();
    fresh[named(ring, value, now)] = value;
  }
  if (lacksAdmin && !Object.keys(kept).some(isAdmin)) fresh[ownAdmin()] = newValue();
  Object.assign(kept, fresh);
  const isToSet = (name) => (isAdmin(name) ? lacksAdmin : lacking.includes(ringOf(name)));
  return { made: Object.keys(fresh), kept, toSet: Object.fromEntries(Object.entries(kept).filter(([name]) => isToSet(name))) };
}

async function create(platform, settings, { databases, jurisdiction, stores, queue }) {
  for (const database of databases) {
    const { binding, name } = database;
    if (!database.id) {
      database.id = await platform.createDatabase(name, jurisdiction);
      database.applied = [];
      did(`the database ${name} is created${jurisdiction && ` in ${jurisdiction}`}`);
    }
    if (settings.setDatabase(binding, database.id)) did(`${binding} has its id in ${settings.file}`);
  }
  for (const { binding, title, id } of stores) {
    const created = id ?? (await platform.createNamespace(title));
    if (!id) did(`the namespace ${title} is created`);
    if (settings.setStore(binding, created)) did(`${binding} has its id in ${settings.file}`);
  }
  if (!queue) {
    await platform.createQueue(settings.queue);
    did(`the queue ${settings.queue} is created`);
  }
}

/** A migration's text and its record are one call, which the platform runs as a transaction. */
async function migrate(platform, settings, { databases }) {
  for (const { id, name, applied } of databases) {
    const known = readdirSync(settings.migrations).filter((file) => file.endsWith(".sql"));
    const newer = applied.filter((file) => !known.includes(file));
    if (newer.length > 0) say(`the database ${name} is newer: this version doesn't know ${newer.join(", ")}`);
    const pending = known.filter((file) => !applied.includes(file)).sort();
    if (pending.length === 0) continue;
    await platform.query(id, [statement(MIGRATIONS)]);
    for (const file of pending) {
      const sql = readFileSync(path.join(settings.migrations, file), "utf8");
      await platform.query(id, [{ sql: `${sql}\nINSERT INTO d1_migrations (name) VALUES ('${file}');` }]);
    }
    did(`the database ${name} has ${pending.length} more migrations`);
  }
}

/** Whether this build is already live with these settings, all secrets, its domain, queue consumer and schedule. */
async function isLive(platform, settings, { queue, worker, domain }, secrets) {
  return (
    worker !== undefined &&
    Object.keys(secrets).length === 0 &&
    (domain !== undefined || !settings.customDomain) &&
    (queue?.consumers ?? []).length > 0 &&
    (await platform.crons(settings.name)).join() === settings.crons.join() &&
    (await platform.tag(settings.name)) === tagOf(settings)
  );
}

async function publish(platform, settings, account, secrets) {
  if (await isLive(platform, settings, account, secrets)) return;
  const words = ["deploy", "--tag", tagOf(settings)];
  // Secrets go through a pipe, not into an argument or a second file.
  const isSetting = Object.keys(secrets).length > 0;
  if (isSetting) words.push("--secrets-file", "/dev/stdin");
  wrangler(settings, words, isSetting ? JSON.stringify(secrets) : "");
  did(`the Worker ${settings.name} is deployed${isSetting ? ` with ${Object.keys(secrets).join(", ")}` : ""}`);
}

/** Its hash covers everything that a deployment consists of. */
function tagOf(settings) {
  const hash = createHash("sha256").update(readFileSync(settings.file));
  for (const [folder, pattern] of [[path.dirname(settings.main), /\.(js|mjs|wasm)$/], [settings.assets, /./]]) {
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile() && pattern.test(each.name));
    for (const file of files.map((each) => path.join(each.parentPath ?? each.path, each.name)).sort())
      hash.update(`\0${path.relative(folder, file)}\0`).update(readFileSync(file));
  }
  return `rcpt-${hash.digest("hex").slice(0, 16)}`;
}

function wrangler(settings, words, input = "") {
  const env = { ...process.env, WRANGLER_SEND_METRICS: "false", CLOUDFLARE_ACCOUNT_ID: settings.account };
  const command = [WRANGLER, ...words, "--config", settings.file];
  // Node's own pipe is a socket, which can't be opened as a file.
  const { status } = spawnSync("sh", ["-c", 'cat | "$@"', "sh", ...command], { cwd: ROOT, env, input, stdio: ["pipe", "inherit", "inherit"] });
  if (status !== 0) throw new Stop(`wrangler ${words.slice(0, 3).join(" ")} failed; what it says above is the reason`);
}

async function ready(settings) {
  const url = new URL("/v1/health/ready", settings.portal);
  const deadline = Date.now() + READY_SECONDS * 1000;
  let last;
  do {
    try {
      const reply = await fetch(url, { signal: AbortSignal.timeout(10_000) });
      last = `${reply.status} ${(await reply.text()).slice(0, 1000)}`;
      if (reply.ok) return say(`${url} answers: ${last}`);
      // The Worker runs. Origins and the schedule come later.
      if (reply.status === 503 && last.includes('"database":"up"')) return say(`${url} answers: ${last}`);
      if (reply.status === 503) break;
    } catch (error) {
      last = error.cause?.code ?? error.message;
    }
    await sleep(2000);
  } while (Date.now() < deadline);
  throw new Stop(`${url} isn't ready: ${last}. A new domain's certificate takes some minutes; run this again to see`);
}

function tellTheRest(settings, file) {
  const copy = Object.keys(file.read()).length > 0 ? file.path : "your copy of the secrets";
  say(`
Left to do by hand:
- Onboard ${settings.mailFrom.split("@")[1]} for email sending, in Cloudflare's dashboard.
- On each origin, in /etc/rcpt/origin.toml: ticket_secrets = the value of TICKET_SECRET_… in ${copy}
- Once an origin runs: npx wrangler secret put ORIGINS (https://origin.acme.com, several with commas). It takes effect in
  seconds, and no deployment changes it.
- Let a monitor ask ${new URL("/v1/health/ready", settings.portal)} every minute, and call you unless it answers 200.
- Keep a copy of that file in a safe place: nothing can read the secrets back.`);
}
