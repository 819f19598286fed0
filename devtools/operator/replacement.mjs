// Replaces the Worker's secrets through the platform's API, also while every Worker is down. A replacement is two deeds,
// each of one call: a value is added, and signs ten minutes later; when nothing is under the old one, that is deleted.
// What lies between is harmless for as long as it lasts, so a run can end anywhere, and the next one goes on.
import { createHash, createHmac } from "node:crypto";
import { statement } from "./databases.mjs";
import { Platform } from "./platform.mjs";
import { SecretsFile, idOf, isAdmin, made, named, newValue, ringOf } from "./secrets.mjs";
import { userInfo } from "node:os";
import { Refusal, asks, say, table } from "./terminal.mjs";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A value signs when it is ten minutes old (shared/src/key_ring.rs). */
const RIPE = 10 * MINUTE;
/** For clocks, and for instances of the Worker that are still to end. */
const MARGIN = 10 * MINUTE;

/** Emails to all owners begin so late that a run which is cut has gone on, and leave the Worker's other emails a fifth. */
const TELL_AFTER_S = 900;
const EMAILS_PER_RUN = 40;

/**
 * Each ring: how long something under a value is in use after it has stopped to sign; what a thief can do with the value,
 * and what ends with it. `now`: it may be ended at once. `tells`: owners get an
 * email first.
 */
const RINGS = {
  SESSION_SECRET: { lasts: 12 * HOUR, now: true, thief: "sign in as anybody whose ids are known", ends: "everybody signs in again" },
  TICKET_SECRET: { lasts: MINUTE, now: true, thief: "have the origins ask mail servers", ends: "nothing" },
  API_KEY_SECRET: {
    lasts: 720 * HOUR,
    now: true,
    tells: true,
    thief: "make API keys of accounts whose ids are known",
    ends: "API keys, webhook secrets, hooks and references made before the newer value end; owners get an email",
  },
  ADDRESS_SECRET: {
    lasts: 720 * HOUR,
    thief: "find addresses in a copy of the database by trying, and stop other people's emails",
    ends: "caches, throttles and what is left of marks of a mailbox",
  },
  TOTP_SECRET: { lasts: 0, thief: "read second factors in a copy of the database", ends: "nothing" },
  SCAN_SECRET: { lasts: 24 * HOUR, thief: "read the addresses of scans in the queue", ends: "older scans can't be matched with a list" },
  OPERATOR_SECRET: { lasts: 24 * HOUR, now: true, thief: "set plans", ends: "your payment program's calls, until it signs with the newer value" },
};

const clock = (time) => `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** The next deed of each ring that is named, or a list of all values. */
export async function replace(settings, words, { now: isNow, yes }) {
  if (!settings.isDeployed) throw new Refusal("no service is deployed: the secrets of this machine are in .dev.vars");
  const platform = await Platform.open(settings.account);
  const house = new House(platform, settings);
  await house.look();
  if (words.length === 0) return table(await house.list());
  const origins = words.filter((word) => word.startsWith("http"));
  const rings = words.filter((word) => !origins.includes(word)).map(ringNamed);
  const deeds = [];
  // Values that are to be deleted: a run that was cut goes on with them, and doesn't begin anew.
  const older = rings.flatMap((ring) => house.values(ring).slice(0, -1)).map(made);
  for (const ring of rings) deeds.push(...(await house.due(ring, isNow, older.length > 0 ? Math.max(...older) : Infinity)));
  const changes = deeds.filter(({ run }) => run);
  const ofTickets = changes.filter(({ ring }) => ring === "TICKET_SECRET");
  for (const { line } of deeds) (changes.length > 0 ? say : (text) => process.stdout.write(`${text}\n`))(line);
  const endsTickets = isNow && rings.includes("TICKET_SECRET");
  if (origins.length === 0 && (ofTickets.length > 0 || endsTickets)) throw new Refusal("name all origins after TICKET: https://origin.acme.com …");
  if (ofTickets.some(({ adds }) => adds)) await house.prepareOrigins(origins);
  else if (ofTickets.length > 0 && !isNow) await house.endAtOrigins(origins, "Nothing was changed");
  if (changes.length > 0) await change(house, changes, yes);
  if (endsTickets) await house.endAtOrigins(origins, "The Worker has replaced it; after an hour this would begin anew");
}

async function change({ platform, settings }, changes, yes) {
  say(`at      the Worker ${settings.name} of the account ${platform.account}`);
  if (!yes && !(await asks("Go on? [y/N] "))) throw new Refusal("nothing was changed", 1);
  for (const { run, done } of changes) {
    await run();
    process.stdout.write(`${done}\n`);
  }
}

function ringNamed(word) {
  const ring = word.toUpperCase().replace(/_SECRET$/, "").replace(/^ADMIN_(SECRET_)?/, "ADMIN_SECRET_");
  if (isAdmin(ring)) return ring;
  if (!RINGS[`${ring}_SECRET`]) throw new Refusal(`there is no ring ${word}: it is one of ${Object.keys(RINGS).join(", ")}, or ADMIN_SECRET_ANN`);
  return `${ring}_SECRET`;
}

class House {
  constructor(platform, settings) {
    this.platform = platform;
    this.settings = settings;
    this.file = new SecretsFile(settings.name, platform.account);
  }

  /** Reads the names of the secrets; the platform never shows a value. */
  async look() {
    const worker = await this.platform.worker(this.settings.name);
    if (!worker) throw new Refusal(`the account has no Worker ${this.settings.name}`);
    this.names = worker.bindings.filter(({ type }) => type === "secret_text").map(({ name }) => name).sort();
    this.now = this.platform.now;
  }

  /** Names of a ring's values, the oldest first: they sort by their minute. */
  values(ring) {
    return this.names.filter((name) => ringOf(name) === ring);
  }

  /** When nothing that time ends is under a ring's older values. `tells`: owners are to be told first, from then on. */
  async ending(ring) {
    const youngest = this.values(ring).at(-1);
    const { tells, lasts } = RINGS[ring];
    const ripe = made(youngest) + RIPE + MARGIN;
    if (!tells) return { from: ripe + lasts };
    const told = await this.told("keys_end", youngest);
    return told.includes(0) ? { tells, from: ripe } : { from: Math.max(...told) + lasts + MARGIN };
  }

  /** When each database was led to tell its owners, or 0. */
  async told(kind, name) {
    const times = [];
    for (const { id } of this.settings.databases) {
      const rows = await this.platform.query(id, [statement("SELECT at FROM operator_actions WHERE id = ?1", `${kind}-${name}`)]);
      times.push((rows[0]?.at ?? 0) * 1_000);
    }
    return times;
  }

  /**
   * Puts an email to each owner into the Worker's outbox. A run that was cut goes on: the row of the audit has the time,
   * and nobody gets a second email of that time.
   */
  async tell(kind, name) {
    const { databases } = this.settings;
    let owners = 0;
    for (const { id } of databases)
      owners += (await this.platform.query(id, [statement("SELECT count(*) AS n FROM accounts WHERE state = 'confirmed' AND deleted_at IS NULL")]))[0].n;
    const record = "INSERT INTO operator_actions (id, at, operator, action, value) VALUES (?1, CAST(?2 AS INTEGER), ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING";
    const email = `INSERT INTO notices (account_id, kind, due_at, happened_at)
      SELECT a.id, o.action, o.at + ${TELL_AFTER_S} + (row_number() OVER (ORDER BY a.id) - 1) / CAST(?2 AS INTEGER) * 300, o.at
      FROM accounts a JOIN operator_actions o ON o.id = ?1 WHERE a.state = 'confirmed' AND a.deleted_at IS NULL
      ON CONFLICT (account_id, kind) DO UPDATE
        SET deeds = deeds + 1, attempts = 0, due_at = excluded.due_at, happened_at = excluded.happened_at
        WHERE happened_at < excluded.happened_at`;
    const late = statement("UPDATE notices SET told = deeds WHERE kind = 'keys_end' AND ?1 = 'keys_ended'", kind);
    const pace = Math.max(1, Math.floor(EMAILS_PER_RUN / databases.length));
    const run = async () => {
      const call = `${kind}-${name}`;
      for (const { id } of databases)
        await this.platform.query(id, [statement(record, call, Math.floor(this.now / 1_000), userInfo().username, kind, name), late, statement(email, call, pace)]);
    };
    return { ring: ringOf(name), run, line: `tell    ${owners} owners by email, ${pace * databases.length} every five minutes`, done: "the emails wait in the outbox" };
  }

  /** The number of sealed second factors under a value. */
  async sealed(name) {
    const [id, count] = [name.slice(-10), "SELECT count(*) AS n FROM second_factors WHERE secret >= ?1 AND secret < ?2"];
    let all = 0;
    for (const database of this.settings.databases)
      all += (await this.platform.query(database.id, [statement(count, `${id}.`, `${id}/`)]))[0].n;
    return all;
  }

  async list() {
    const rows = [];
    for (const ring of Object.keys(RINGS)) {
      const values = this.values(ring);
      const ripe = values.filter((name) => made(name) + RIPE <= this.now);
      const signing = ripe.at(-1) ?? values[0];
      for (const name of values) {
        const ending = name !== values.at(-1);
        const under = ring === "TOTP_SECRET" ? `${await this.sealed(name)} second factors` : "-";
        const { tells, from } = ending && (await this.ending(ring));
        const next = ending ? `${tells ? "tell the owners" : "delete"} from ${clock(from)}` : values.length === 1 ? "add, when you want to replace it" : "-";
        rows.push({ name, does: name === signing ? "signs" : name > signing ? `signs from ${clock(made(name) + RIPE)}` : "verifies", under, next });
      }
    }
    for (const name of this.names.filter((each) => !RINGS[ringOf(each)])) rows.push({ name, does: "one value", under: "-", next: "-" });
    return rows;
  }

  /** What is to be done for a ring now, as lines, with what does it; values made after `replaced` are not to be replaced. */
  async due(ring, isNow, replaced) {
    if (isAdmin(ring)) return this.dueAdmin(ring, isNow);
    const { now: mayEndNow, tells, thief, ends } = RINGS[ring];
    const values = this.values(ring);
    const [youngest, older] = [values.at(-1), values.slice(0, -1)];
    if (isNow && !mayEndNow) throw new Refusal(`${ring} has no --now: what is under it would be lost. Add a value, and let it replace the old one`);
    if (isNow) {
      // A fresh value is that of a run that was cut. Origins are led to theirs by hand.
      const isTold = tells && older.length > 0 && (await this.told("keys_ended", older[0])).some(Boolean);
      const isFresh = isTold || (youngest !== undefined && made(youngest) + (ring === "TICKET_SECRET" ? HOUR : RIPE) > this.now);
      if (isFresh && older.length === 0) return [{ line: `${ring}: ${youngest} is new, and alone` }];
      const deeds = isFresh ? [] : [this.add(ring, thief)];
      const old = isFresh ? older : values;
      if (tells && old.length > 0) deeds.push(await this.tell("keys_ended", old[0]));
      // The oldest is the last: by its name, a run that was cut knows what it has told.
      return [...deeds, ...old.toReversed().map((name) => this.delete(name, ends))];
    }
    if (older.length === 0 && made(youngest ?? ring) > replaced) return [{ line: `${ring}: ${youngest} is newer than what is being replaced; name the ring alone to replace it` }];
    if (older.length === 0) return [this.add(ring, thief)];
    const deeds = [];
    const { tells: isToTell, from } = await this.ending(ring);
    if (isToTell && from <= this.now) return [await this.tell("keys_end", youngest)];
    if (isToTell) return [{ line: `${ring}: its owners can be told from ${clock(from)}: run this again then` }];
    for (const name of older) {
      if (from > this.now) deeds.push({ line: `${ring}: ${name} can be deleted from ${clock(from)}: run this again then` });
      else if (ring === "TOTP_SECRET" && (await this.sealed(name)) > 0)
        deeds.push({ line: `${ring}: ${await this.sealed(name)} second factors are under ${name}; the Worker renews them every five minutes: run this again` });
      else deeds.push(this.delete(name, ends));
    }
    return deeds;
  }

  /** An operator has one value: it is ended, and another one is made by who has it. */
  dueAdmin(ring, isNow) {
    const isThere = this.names.includes(ring);
    if (isThere && !isNow) return [{ line: `${ring} is there; --now ends it` }];
    if (isThere) return [this.delete(ring, "its person's calls are refused; run this again, as that person, for a new one")];
    if (isNow) return [{ line: `${ring} isn't there` }];
    const run = async () => {
      const value = newValue();
      this.file.write({ ...this.file.read(), [ring]: value });
      await this.platform.addSecret(this.settings.name, ring, value);
    };
    return [{ ring, run, line: `add     ${ring}, and keep it in ${this.file.path}`, done: `${ring} is added` }];
  }

  add(ring, thief) {
    const run = async () => {
      // The minute is the platform's: a clock that is behind would let a value sign that not all instances know.
      const value = ring === "TICKET_SECRET" ? this.ticket : newValue();
      const name = named(ring, value, this.now);
      this.keep(name, value);
      await this.platform.addSecret(this.settings.name, name, value);
      this.names.push(name);
    };
    const line = `add     a value to ${ring}; it signs ten minutes later. A thief of a value can ${thief}`;
    return { ring, adds: true, run, line, done: `${ring}: a value is added, and kept in ${this.file.path}. Run this again to delete the old one; it says when` };
  }

  delete(name, ends) {
    const run = async () => {
      await this.platform.deleteSecret(this.settings.name, name);
      const kept = this.file.read();
      if (!(name in kept)) return;
      delete kept[name];
      this.file.write(kept);
    };
    return { ring: ringOf(name), run, line: `delete  ${name}. With it end: ${ends}`, done: `${name} is deleted` };
  }

  /** Writes a value to the operator's copy; those of its ring that the platform doesn't have go. */
  keep(name, value) {
    const kept = Object.entries(this.file.read()).filter(([other]) => ringOf(other) !== ringOf(name) || this.names.includes(other));
    this.file.write({ ...Object.fromEntries(kept), [name]: value });
  }

  /** Goes on once every origin accepts tickets under a new value, which is kept until then. */
  async prepareOrigins(origins) {
    const kept = Object.entries(this.file.read()).filter(([name]) => ringOf(name) === "TICKET_SECRET" && !this.names.includes(name));
    this.ticket = kept.at(-1)?.[1] ?? newValue();
    this.keep(named("TICKET_SECRET", this.ticket, this.now), this.ticket);
    const refusing = await originsThat(origins, this.ticket, (accepted) => accepted === 0);
    if (refusing.length > 0)
      throw new Refusal(
        `${refusing.join(", ")} ${refusing.length === 1 ? "doesn't" : "don't"} accept the new value, or this machine's clock is wrong. On each origin append it to ticket_secrets, with a comma between:\n` +
          `  sed -i '/^ticket_secrets/s/"$/,${this.ticket}"/' /etc/rcpt/origin.toml && systemctl reload rcpt-origin\nThen run this again. Nothing was changed`,
        1,
      );
    say(`${origins.join(", ")} accept the new value`);
  }

  /** Goes on once every origin accepts the youngest value alone: it would let a thief of an older one in. */
  async endAtOrigins(origins, state) {
    const youngest = this.values("TICKET_SECRET").at(-1);
    const value = this.file.read()[youngest];
    if (!value) throw new Refusal(`${this.file.path} lacks ${youngest}, with which the origins are asked: run this where it was made; if that is lost, replace it with --now. ${state}`, 1);
    const others = await originsThat(origins, value, (accepted) => accepted !== 1);
    if (others.length > 0)
      throw new Refusal(
        `a thief's value still works: ${others.join(", ")} must accept the new value alone. On each origin leave only that in ticket_secrets:\n` +
          `  sed -i '/^ticket_secrets/s/".*"/"${value}"/' /etc/rcpt/origin.toml && systemctl reload rcpt-origin\nThen run this again. ${state}`,
        1,
      );
    process.stdout.write(`${origins.join(", ")} accept the new value alone\n`);
  }
}

async function originsThat(origins, value, fit) {
  const found = [];
  for (const origin of origins) if (fit(await accepted(origin, value))) found.push(origin);
  return found;
}

/** How many values an origin accepts, or 0 if this is none of them. An empty request asks no mail server. */
async function accepted(origin, value) {
  const [iat, text] = [Math.floor(Date.now() / 1000), (part) => Buffer.from(JSON.stringify(part)).toString("base64url")];
  const body = createHash("sha256").update("{}").digest("base64url");
  const claims = { iss: "rcpt-edge", aud: "origin", iat, exp: iat + 60, jti: "operator", body };
  const signed = `${text({ typ: "JWT", alg: "HS256", kid: idOf(value) })}.${text(claims)}`;
  const signature = createHmac("sha256", Buffer.from(value, "base64url")).update(signed).digest("base64url");
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${signed}.${signature}` };
  const url = new URL("/v1/probe", origin);
  const reply = await fetch(url, { method: "POST", headers, body: "{}", signal: AbortSignal.timeout(10_000) }).catch((error) => {
    throw new Refusal(`${origin}: ${error.cause?.code ?? error.message}`, 1);
  });
  if (reply.status === 401) return 0;
  const count = Number(reply.headers.get("x-rcpt-secrets"));
  if (!(count > 0)) throw new Refusal(`${origin} answered ${reply.status}, as no origin does`, 1);
  return count;
}
