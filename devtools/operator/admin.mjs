#!/usr/bin/env node
// Operator actions on accounts, in the local databases or in the deployed ones. Run by `make admin ARGS="…"`.
import { createHmac } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { LocalDatabases, RemoteDatabases, statement } from "./databases.mjs";

const USAGE = `usage: admin [OPTIONS] ACTION [EMAIL] [VALUE]

accounts
  list                         the 50 accounts that have used the most checks today
  search TEXT                  up to 50 accounts with TEXT in their address
  tenant NAME                  the account whose checks an origin logs under this tenant; needs the
                               Worker's ADDRESS_SECRETS in the environment (locally: .dev.vars)
  show EMAIL                   state, plan, key and allowances of an account
  set-plan EMAIL PLAN          PLAN is a row of the plans table: free, pro, unlimited; with --until it ends then,
                               and the account is on free again
  grant-scan-credits EMAIL N   adds N scan credits
  grant-checks EMAIL N         adds N welcome checks
  deactivate-key EMAIL         the API key stops working immediately, and can't be replaced
  reactivate-key EMAIL
  deactivate EMAIL             key, sessions and sign-in stop working immediately
  reactivate EMAIL
  recover EMAIL                for an owner who has lost phone and recovery codes: in three days, unless someone
                               signs in or objects, turns two-factor authentication off, voids the password
                               and ends every session (--reason is required: how you recognised the owner)
  stop-recovery EMAIL          ends a recovery that hasn't taken effect
  resend EMAIL                 the Worker emails a new confirmation link at its next scheduled run
  delete EMAIL                 removes the account, as its owner can (--reason is required)

plans
  plans                        the plans and their sizes
  set-size PLAN SIZE N         SIZE is daily-checks, daily-scans, scan-size (addresses of a scan) or
                               scans-at-once

addresses and domains
  allow EMAIL                  this very address may register although another spelling of its mailbox has an account;
                               needs the Worker's ADDRESS_SECRETS as tenant does (--reason is required)
  domains                      the 50 domains with the most free accounts that were confirmed in the last 30 days
  set-domain NAME WELCOME      future accounts at this domain get no-welcome, or welcome checks again

records
  audit [EMAIL]                the last 50 actions of operators, on all accounts or on one
  secrets                      how many accounts depend on each address and TOTP secret
  directory                    accounts that can't be signed in to, because the directory of addresses
                               has lost them, has another address for them or names another one, and
                               addresses of no account;
                               --mend enters those that are missing

options
  --remote          the deployed databases; without it, the local ones of \`make dev\`
  --config FILE     the wrangler.toml of the deployed service (default: the repository's)
  --persist-to DIR  where the local databases are (default .wrangler/state)
  --as NAME         who is acting (default: your user name on this machine)
  --reason TEXT     why; kept with the action
  --until DATE      when the plan ends (2027-01-31, or 2027-01-31T12:00:00Z), for set-plan
  --help            this text

EMAIL may also be the id of an account, which \`directory\` shows, or its reference (acct_…), which its owner quotes.
An account is looked for in every database of wrangler.toml.
Every action leaves a row in the table operator_actions: when, who, what, on which account and why.
`;

const count = (text) => {
  if (!/^[1-9][0-9]{0,8}$/.test(text ?? "")) fail("N must be a whole number from 1 to 999999999");
  return Number(text);
};

/** Unix time, or null for a plan without an end. */
function planEnd() {
  if (until === undefined) return null;
  const seconds = Math.floor(Date.parse(until) / 1000);
  if (!/^\d{4}-\d\d-\d\d/.test(until) || !(seconds > Date.now() / 1000)) fail("--until needs a date that is still to come");
  return seconds;
}

const SHOW = `SELECT a.id, a.email, a.display_name, a.state,
  CASE WHEN a.plan_until <= unixepoch() THEN 'free' ELSE a.plan END AS plan,
  CASE WHEN a.plan_until > unixepoch() THEN datetime(a.plan_until, 'unixepoch') END AS plan_until,
  a.key_version, a.key_active,
  a.totp_secret IS NOT NULL AS two_factor,
  (SELECT datetime(r.due_at, 'unixepoch') FROM recoveries r WHERE r.account_id = a.id) AS recovery_due,
  (SELECT datetime(nullif(r.mailed_at, 0), 'unixepoch') FROM recoveries r WHERE r.account_id = a.id) AS recovery_mailed,
  datetime(a.created_at, 'unixepoch') AS created_at,
  datetime(a.confirmed_at, 'unixepoch') AS confirmed_at,
  CASE WHEN a.day = unixepoch() / 86400 THEN a.daily_charged ELSE 0 END AS checks_charged_today,
  (SELECT count(*) FROM leases l WHERE l.account_id = a.id AND l.expires_at > unixepoch()) AS live_leases,
  a.welcome_left, a.scan_credits
  FROM accounts a`;

// SQL assignments to the account's row, with parameters from ?2; null for actions without such assignments.
const CHANGES = {
  show: () => null,
  tenant: () => null,
  // `plan_set_at` makes earlier events of a payment provider ineffective.
  "set-plan": (plan) => [
    "plan = (SELECT name FROM plans WHERE name = ?2), plan_until = ?3, plan_set_at = ?4",
    plan ?? "",
    planEnd(),
    Date.now(),
  ],
  "grant-scan-credits": (n) => ["scan_credits = scan_credits + ?2", count(n)],
  "grant-checks": (n) => [
    // The account's chart counts welcome checks from its first day (edge/src/store/usage_days.rs).
    `welcome_left = welcome_left + ?2,
     days = CASE days WHEN '[]' THEN json_array(json_array(0, 0, welcome_left + ?2)) ELSE days END`,
    count(n),
  ],
  "deactivate-key": () => ["key_active = 0"],
  "reactivate-key": () => ["key_active = 1"],
  deactivate: () => ["state = 'deactivated'"],
  // Restores the state before the deactivation: only the emailed link can confirm an account.
  reactivate: () => [
    "state = CASE WHEN state <> 'deactivated' THEN state WHEN confirmed_at IS NULL THEN 'unconfirmed' ELSE 'confirmed' END",
  ],
  recover: () => null,
  "stop-recovery": () => null,
  resend: () => ["confirmation_requested = (state = 'unconfirmed')"],
  delete: () => null,
};
// Irreversible actions need a reason.
const NEED_A_REASON = ["recover", "delete", "allow"];
// Reactivating an account must not bring its sessions back.
const END_SESSIONS = ["deactivate"];

/** Statements of the Worker, which `make openapi` writes (edge/src/store/operator.rs). */
const STATEMENTS = JSON.parse(readFileSync(new URL("statements.json", import.meta.url), "utf8"));

const own = (name, ...params) => statement(STATEMENTS[name], ...params);

const OVERVIEW = `SELECT email, CASE WHEN plan_until <= unixepoch() THEN 'free' ELSE plan END AS plan, state,
  CASE WHEN day = unixepoch() / 86400 THEN daily_charged ELSE 0 END AS used_today, welcome_left
  FROM accounts`;

// Columns of the sizes of plans, by the names that operators use. Each database has the whole table of plans.
const SIZES = {
  "daily-checks": "daily_checks",
  "daily-scans": "daily_scans",
  "scan-size": "scan_size",
  "scans-at-once": "max_scans",
};

const PLANS = `SELECT name, unlimited, ${Object.entries(SIZES).map(([size, column]) => `${column} AS '${size}'`)}
  FROM plans ORDER BY daily_checks, name`;

const kid = (column) => `substr(${column}, 1, instr(${column}, '.') - 1)`;

// SQL of an email's domain: the text after the last at-sign.
const DOMAIN = "lower(substr(email, length(rtrim(email, replace(email, '@', ''))) + 1))";

const TABLES = {
  list: () => [`${OVERVIEW} ORDER BY used_today DESC, email LIMIT 50`],
  search: (text) => {
    if (!text) fail("expected search TEXT");
    // `instr` instead of LIKE, which has wildcards.
    return [`${OVERVIEW} WHERE instr(lower(email), lower(?1)) > 0 ORDER BY email LIMIT 50`, text];
  },
  plans: () => [PLANS],
  domains: () => [`SELECT ${DOMAIN} AS domain, count(*) AS accounts,
    CASE WHEN ${DOMAIN} IN (SELECT domain FROM domains_without_welcome) THEN 'no-welcome' ELSE 'welcome' END AS welcome
    FROM accounts WHERE state = 'confirmed' AND confirmed_at > unixepoch() - 30 * 86400
      AND (plan = 'free' OR plan_until <= unixepoch())
    GROUP BY 1`],
  audit: (email) => [`SELECT datetime(o.at, 'unixepoch') AS at, o.operator, o.action,
    coalesce(nullif(a.email, ''), o.account_id, '-') AS account, o.value, o.reason
    FROM operator_actions o LEFT JOIN accounts a ON a.id = o.account_id
    ${email ? `WHERE ${BY_EMAIL}` : ""} ORDER BY o.id DESC LIMIT 50`, ...(email ? [email] : [])],
  secrets: () => [`SELECT 'ADDRESS_SECRETS' AS secret, ${kid("address_hash")} AS name, count(*) AS accounts
    FROM accounts WHERE deleted_at IS NULL GROUP BY 2
    UNION ALL SELECT 'TOTP_SECRETS', ${kid("totp_secret")}, count(*)
    FROM accounts WHERE totp_secret IS NOT NULL GROUP BY 2
    UNION ALL SELECT 'TOTP_SECRETS', ${kid("old_totp_secret")}, count(*)
    FROM email_changes WHERE old_totp_secret IS NOT NULL AND state = 'moved' AND expires_at > unixepoch() GROUP BY 2
    UNION ALL SELECT 'TOTP_SECRETS', ${kid("totp_secret")}, count(*)
    FROM former_credentials WHERE totp_secret IS NOT NULL AND expires_at > unixepoch() GROUP BY 2
    UNION ALL SELECT 'TOTP_SECRETS', ${kid("f.value ->> 'totp_secret'")}, count(*)
    FROM email_changes, json_each(former_credentials) f
    WHERE f.value ->> 'totp_secret' IS NOT NULL AND state = 'moved' AND expires_at > unixepoch() GROUP BY 2`],
};

const descending = (name) => (a, b) => (a[name] < b[name] ? 1 : a[name] > b[name] ? -1 : 0);

/** Functions that merge the rows of all databases, by action. */
const MERGED = {
  list: (rows) => rows.sort(descending("used_today")).slice(0, 50),
  search: (rows) => rows.sort(descending("email")).reverse().slice(0, 50),
  // All databases have the same plans, unless a change was interrupted; then all versions are shown.
  plans: (rows) => {
    const shown = new Map(rows.map(({ database, ...row }) => [JSON.stringify(row), row]));
    return [...shown.values()];
  },
  domains: (rows) => summed(rows, ({ domain }) => domain).sort(descending("accounts")).slice(0, 50),
  audit: (rows) => rows.sort(descending("at")).slice(0, 50),
  secrets: (rows) => summed(rows, ({ secret, name }) => `${secret} ${name}`),
};

/** Rows with the same key are merged, and their `accounts` added up. */
function summed(rows, keyOf) {
  const sums = new Map();
  for (const row of rows) {
    const { accounts } = sums.get(keyOf(row)) ?? { accounts: 0 };
    sums.set(keyOf(row), { ...row, accounts: accounts + row.accounts });
  }
  return [...sums.values()];
}

function fail(message) {
  process.stderr.write(`admin: ${message}\n`);
  process.exit(2);
}

// Errors of a locked local database: a running Worker may be writing to its file. Nothing was executed, because
// statements sent together are one transaction. For a database that was just opened, the runtime only reports an
// internal error.
const LOCKED = /SQLITE_BUSY|database is locked|internal error/;
// Number of attempts: half a minute in total.
const TRIES = 60;
const PAUSE_MS = 500;

/** The statements are one transaction; the rows are those of the last statement. */
async function run(database, statements, tries = TRIES) {
  try {
    return await databases.run(database, statements);
  } catch (error) {
    const mayRetry = !isRemote && LOCKED.test(error.message) && tries > 1;
    if (!mayRetry) return fail(`${database}: ${error.message}`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return run(database, statements, tries - 1);
  }
}

const query = (database, sql, ...params) => run(database, [statement(sql, ...params)]);

/** Each row has its database's name. */
async function everywhere(...statements) {
  const found = await Promise.all(databases.names.map((database) => run(database, statements)));
  return found.flatMap((rows, index) => rows.map((row) => ({ ...row, database: databases.names[index] })));
}

/** The secrets come from the environment or, locally, from `make dev`. */
function addressSecrets() {
  let ring = process.env.ADDRESS_SECRETS;
  if (!ring && !isRemote) {
    const vars = existsSync(".dev.vars") ? readFileSync(".dev.vars", "utf8") : "";
    ring = /^ADDRESS_SECRETS=["']?([^"'\n]*)/m.exec(vars)?.[1];
  }
  if (!ring) fail(`${action} needs the Worker's ADDRESS_SECRETS in the environment`);
  return ring.split(",").map((pair) => {
    const [kid, secret] = pair.trim().split(":");
    return { kid, secret: Buffer.from((secret ?? "").trim(), "base64url") };
  });
}

/** The hash is the same as in edge/src/credentials/address_hash.rs. */
const keyed = (secret, purpose, text) => createHmac("sha256", secret).update(`${purpose}\0${text}`).digest("hex");

// Number of rows per query; their ids take a megabyte at most.
const PAGE = 20_000;
// Number of rows that one statement inserts, from one parameter of at most two megabytes.
const MENDED_AT_ONCE = 500;

/** The tenant's name is a keyed hash (edge/src/credentials/address_hash.rs). */
async function emailOfTenant(name) {
  if (!/^[0-9a-f]{32}$/.test(name ?? "")) fail("a tenant is 32 hexadecimal digits");
  const secrets = addressSecrets();
  const is = (id) => secrets.some(({ secret }) => keyed(secret, "tenant", id).startsWith(name));
  let looked = 0;
  for (const database of databases.names) {
    for (let after = "", ids; ids === undefined || ids.length === PAGE; after = ids.at(-1)?.id) {
      ids = await query(database, `SELECT id FROM accounts WHERE id > ?1 ORDER BY id LIMIT ${PAGE}`, after);
      const id = ids.map((row) => row.id).find(is);
      if (id) return (await query(database, "SELECT email FROM accounts WHERE id = ?1", id))[0]?.email;
      looked += ids.length;
      if (ids.length === PAGE) process.stderr.write(`looked at ${looked} accounts\n`);
    }
  }
  return undefined;
}

const words = process.argv.slice(2);
if (words.includes("--help") || words.length === 0) {
  process.stdout.write(USAGE);
  process.exit(words.length === 0 ? 2 : 0);
}

/** Removes the option and its value from the words; undefined if the option is absent. */
function option(name) {
  const index = words.indexOf(name);
  if (index < 0) return undefined;
  return words.splice(index, 2)[1] ?? fail(`${name} needs a value`);
}

const folder = option("--persist-to");
const config = option("--config");
const operator = option("--as") ?? userInfo().username;
const reason = option("--reason") ?? "";
const until = option("--until");
const isRemote = words.includes("--remote");
const isMending = words.includes("--mend");
const FLAGS = ["--remote", "--mend"];
const [action, given, value, ...rest] = words.filter((word) => !FLAGS.includes(word));
const databases = isRemote ? new RemoteDatabases(config) : new LocalDatabases(folder);
const [first] = databases.names;
const subject =
  action === "tenant"
    ? ((await emailOfTenant(given)) ?? fail(`no account is the tenant ${given}: it is deleted, or its name is of another secret`))
    : given;

// An account's id of 64 bits, or its reference: the id with a MAC, which isn't needed here.
const ID = /^(?:acct_)?([0-9a-f]{16})(?:[0-9a-f]{32})?$/;

// Operators type an address as the person wrote it; case doesn't distinguish accounts.
const BY_EMAIL = "lower(email) = lower(?1)";

/** Records an action without an account. */
const record = (words = value ?? "") =>
  statement(
    "INSERT INTO operator_actions (at, operator, action, value, reason) SELECT unixepoch(), ?1, ?2, ?3, ?4",
    ...[operator, action, words, reason],
  );

/** Records an action on an account, if the account's row exists. */
const recordOf = (id) =>
  statement(
    `INSERT INTO operator_actions (at, operator, action, account_id, value, reason)
     SELECT unixepoch(), ?1, ?2, id, ?3, ?4 FROM accounts WHERE id = ?5`,
    ...[operator, action, value ?? "", reason, id],
  );

if (isMending && action !== "directory") fail("only directory has --mend");
if (until !== undefined && action !== "set-plan") fail("only set-plan has --until");
if (action === "directory") {
  if (given) fail(`too many words\n\n${USAGE}`);
  await run(first, [record()]);
  await directory();
} else if (Object.hasOwn(TABLES, action)) {
  const isAlone = ["list", "plans", "domains", "secrets"].includes(action);
  if (value || (subject && isAlone)) fail(`too many words\n\n${USAGE}`);
  const table = statement(...TABLES[action](subject));
  await run(first, [record()]);
  print(MERGED[action](await everywhere(table)).map(({ database, ...row }) => row));
} else if (action === "set-size") {
  await setSize();
} else if (action === "set-domain") {
  await setDomain();
} else if (action === "allow") {
  await allow();
} else {
  if (!Object.hasOwn(CHANGES, action)) fail(`there is no action ${action}\n\n${USAGE}`);
  if (!subject || rest.length > 0) fail(`expected ${action} EMAIL [VALUE]\n\n${USAGE}`);
  if (NEED_A_REASON.includes(action) && !reason) fail(`${action} needs --reason TEXT`);
  await change();
}
await databases.close();

/** `email` may be an id. */
async function find(email) {
  const id = ID.exec(email)?.[1];
  const sql = `SELECT id, state, email FROM accounts WHERE ${id ? "id = ?1" : BY_EMAIL} AND deleted_at IS NULL`;
  const found = await everywhere(statement(sql, id ?? email));
  if (found.length < 2) return found[0];
  // An interrupted registration may have left a second account, until housekeeping removes it.
  const ids = JSON.stringify(found.map(({ id }) => id));
  const named = await query(first, "SELECT account_id FROM addresses WHERE account_id IN (SELECT value FROM json_each(?1))", ids);
  return found.find(({ id }) => id === named[0]?.account_id) ?? found[0];
}

async function setSize() {
  const [plan, size, number] = [given ?? "", value ?? "", count(rest[0])];
  if (!Object.hasOwn(SIZES, size) || rest.length > 1) fail(`expected set-size PLAN ${Object.keys(SIZES).join("|")} N`);
  const found = await query(first, "SELECT name FROM plans WHERE name = ?1", plan);
  if (found.length === 0) fail(`there is no plan ${plan}`);
  await run(first, [record(`${plan} ${size} ${number}`)]);
  const update = statement(`UPDATE plans SET ${SIZES[size]} = ?1 WHERE name = ?2`, number, plan);
  print(MERGED.plans(await everywhere(update, statement(PLANS))));
}

/** Allows the registration of an address whose mailbox has an account under another spelling. */
async function allow() {
  // All providers with known spellings have ASCII addresses, which need no library to parse.
  if (!/^[!-?A-~]+@[a-z0-9.-]+$/i.test(given ?? "") || value) fail("expected allow EMAIL, in plain ASCII");
  if (!reason) fail("allow needs --reason TEXT");
  const [{ kid, secret }] = addressSecrets();
  const hash = `${kid}.${keyed(secret, "account", given.toLowerCase())}`;
  // The record contains no address and no account, because there is no account yet.
  const allowed = await run(first, [
    record(),
    statement("INSERT OR IGNORE INTO allowed_addresses (address_hash, allowed_at) VALUES (?1, unixepoch())", hash),
    statement("SELECT datetime(allowed_at, 'unixepoch') AS allowed_since FROM allowed_addresses WHERE address_hash = ?1", hash),
  ]);
  print(allowed);
}

async function setDomain() {
  const name = (given ?? "").toLowerCase();
  const isDomain = /^[^\s@]+\.[^\s@]+$/.test(name) && ["welcome", "no-welcome"].includes(value) && rest.length === 0;
  if (!isDomain) fail("expected set-domain NAME welcome|no-welcome");
  await run(first, [record(`${name} ${value}`)]);
  const sql =
    value === "welcome"
      ? "DELETE FROM domains_without_welcome WHERE domain = ?1"
      : "INSERT OR IGNORE INTO domains_without_welcome (domain) VALUES (?1)";
  await everywhere(statement(sql, name));
  print([{ domain: name, welcome: value }]);
}

async function change() {
  const found = await find(subject);
  if (!found) fail(`there is no account ${subject}`);
  const { database, id } = found;
  const changes = CHANGES[action](value);
  if (action === "set-plan") {
    const plans = await query(database, "SELECT name FROM plans WHERE name = ?1", value ?? "");
    if (plans.length === 0) fail(`there is no plan ${value}`);
  }
  // One transaction. The record is first, because it reads the account's row.
  const statements = [recordOf(id)];
  if (action === "set-plan") statements.push(own("plan_changed", id, value));
  if (changes) {
    const [assignments, ...params] = changes;
    statements.push(statement(`UPDATE accounts SET ${assignments} WHERE id = ?1`, id, ...params));
  }
  // The Worker's next scheduled run emails the owner, since an impostor may have persuaded the operator.
  if (action === "recover") {
    statements.push(own("recovery_pending_event", id), own("recovery_pending", id), own("recover", id));
  }
  if (action === "stop-recovery") {
    statements.push(own("recovery_stopped_event", id), own("recovery_stopped", id));
    statements.push(statement("DELETE FROM recoveries WHERE account_id = ?1", id));
  }
  if (END_SESSIONS.includes(action)) statements.push(statement("DELETE FROM sessions WHERE account_id = ?1", id));
  if (action === "delete") {
    // Keeps the account's usage, as when owners delete accounts. The next scheduled run clears the directory.
    const now = Math.floor(Date.now() / 1000);
    statements.push(own("tombstone", id, "", Math.floor(now / 86400), now));
    // Scheduled runs remove the account's rows in other tables, in steps.
    statements.push(own("erase", id, "", "", now), own("delete_notices", id));
    statements.push(statement("SELECT ?1 AS deleted FROM accounts WHERE id = ?2 AND deleted_at IS NOT NULL", found.email, id));
  } else {
    statements.push(statement(`${SHOW} WHERE id = ?1`, id));
  }
  const [row] = await run(database, statements);
  if (!row) fail(action === "delete" ? `${subject} is frozen, so it can't be deleted` : `there is no account ${subject}`);
  if (action === "recover" && row.recovery_due === null) fail(`${subject} can't be recovered: ${unrecoverable(row)}`);
  if (action === "resend" && row.state !== "unconfirmed") fail(`${subject} isn't waiting for confirmation`);
  for (const [name, shown] of Object.entries(row)) {
    process.stdout.write(`${name.padEnd(22)}${shown ?? "-"}\n`);
  }
}

/** Call this only if no recovery of the account has started. */
function unrecoverable(row) {
  if (row.confirmed_at === null) return "its address hasn't been confirmed";
  if (!row.two_factor) return "two-factor authentication is off";
  return "it's frozen, or its password or address has changed within 14 days";
}

/** Rows come in the order of the key. */
async function* pages(database, key, columns, from) {
  for (let after = "", rows; rows === undefined || rows.length === PAGE; after = rows.at(-1)?.[key]) {
    rows = await query(database, `SELECT ${columns} FROM ${from} AND ${key} > ?1 ORDER BY ${key} LIMIT ${PAGE}`, after);
    yield* rows;
  }
}

/** Hashes under different secrets can't be compared. */
function differs(one, other) {
  const [[kid], [otherKid]] = [one.split("."), other.split(".")];
  return kid === otherKid && one !== other;
}

/** With --mend, missing entries are added. */
async function directory() {
  const [named, places] = [new Map(), new Map()];
  for await (const row of pages(first, "address_hash", "address_hash, account_id", "addresses WHERE confirmed = 1 AND reserved_until IS NULL")) {
    // An account has two rows while its address is being changed.
    named.set(row.account_id, [row.address_hash, ...(named.get(row.account_id) ?? [])]);
    places.set(row.address_hash, row.account_id);
  }
  const [wrong, lost] = [[], []];
  for (const database of databases.names) {
    const columns = "id, email, address_hash";
    for await (const account of pages(database, "id", columns, "accounts WHERE confirmed_at IS NOT NULL")) {
      const { id, email, address_hash } = account;
      const hashes = named.get(id);
      if (named.delete(id)) {
        if (hashes.every((hash) => differs(hash, address_hash))) wrong.push({ id, database, email, directory: "has another address for it" });
        continue;
      }
      const other = places.get(address_hash);
      if (other === undefined) lost.push(account);
      wrong.push({ id, database, email, directory: other ? `names ${other}` : isMending ? "entered" : "has lost it" });
    }
  }
  // No account has these ids. If an account was just deleted, the next scheduled run removes its entry.
  for (const id of named.keys()) wrong.push({ id, database: "-", email: "-", directory: "names no account" });
  for (let from = 0; isMending && from < lost.length; from += MENDED_AT_ONCE) {
    const rows = lost.slice(from, from + MENDED_AT_ONCE).map(({ address_hash, id }) => [address_hash, id]);
    // If somebody else has registered the address but not confirmed it, the existing account wins.
    const sql = `INSERT INTO addresses (address_hash, account_id, confirmed, claimed_at)
      SELECT value ->> 0, value ->> 1, 1, unixepoch() FROM json_each(?1) WHERE true
      ON CONFLICT (address_hash) DO UPDATE
      SET account_id = excluded.account_id, confirmed = 1 WHERE addresses.confirmed = 0`;
    await query(first, sql, JSON.stringify(rows));
  }
  if (wrong.length > 0) return print(wrong);
  process.stdout.write("every account is in the directory\n");
}

function print(rows) {
  const names = Object.keys(rows[0] ?? {});
  const table = [names, ...rows.map((row) => names.map((name) => String(row[name] ?? "-")))];
  const widths = names.map((_, column) => Math.max(...table.map((cells) => cells[column].length)));
  for (const cells of table) {
    process.stdout.write(`${cells.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd()}\n`);
  }
}
