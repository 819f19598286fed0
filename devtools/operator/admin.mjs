// Operators' actions on accounts and plans, as signed calls of the Worker (`POST /v1/operator`), and the house's, through the
// platform's API. Run as `tools/admin …`, without a shell in between.
import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { LocalDatabases, RemoteDatabases } from "./databases.mjs";
import { compare, enter } from "./directory.mjs";
import { person } from "./person.mjs";
import { Stop } from "./platform.mjs";
import { replace } from "./replacement.mjs";
import { restore } from "./restore.mjs";
import { Settings } from "./settings.mjs";
import { Refusal, asks, say, shown, table } from "./terminal.mjs";

const USAGE = `usage: tools/admin [OPTIONS] ACTION [EMAIL] [VALUE]

accounts
  list                     the 50 accounts that have used the most checks today
  search TEXT              up to 50 accounts with TEXT in their address
  tenant NAME              the account whose checks an origin logs under this tenant
  show EMAIL               state, plan, key and allowances of an account
  set-plan EMAIL PLAN      with --until the plan ends then, and the account is on free again
  grant-checks EMAIL N     adds N welcome checks
  deactivate-key EMAIL     the API key stops working immediately, and can't be replaced
  reactivate-key EMAIL
  deactivate EMAIL         key, sessions and sign-in stop working immediately
  reactivate EMAIL
  recover EMAIL            for an owner who has lost phone and recovery codes: after three days of emails,
                           two-factor authentication is off (--reason: how you recognised the owner)
  stop-recovery EMAIL      ends a recovery that hasn't taken effect
  delete EMAIL             deactivates the account; it is erased a day later (needs --reason)
  undelete EMAIL           until then: it isn't erased, and stays deactivated
  allow EMAIL              this very address may register although another spelling of its mailbox has an
                           account (needs --reason)

plans
  plans                    the plans and their sizes
  set-size PLAN SIZE N     SIZE is daily-checks, daily-scans, scan-size (addresses) or scans-at-once

records
  audit [EMAIL]            the last 50 changes by operators, of all accounts or of one
  directory                accounts that the directory of addresses has lost or has wrong, read from the databases;
                           --mend enters them where the address is free, and removes addresses of no account

the house, through the platform's API: also while the Worker is down
  secret                   the values of all secrets, what lies under each, and the next deed
  secret RING …            the deed that is due: adds a value, or deletes one that nothing is under. RING is SESSION,
                           TICKET (then the origins' URLs), API_KEY, ADDRESS, TOTP, SCAN, OPERATOR or ADMIN_SECRET_ANN;
                           --now ends the old value at once (SESSION, TICKET, API_KEY, OPERATOR, ADMIN_…)
  restore DB MINUTE        reads a database as it was at that time of the last 30 days, and leaves it as it is; its
                           accounts are closed meanwhile. If it was cut, the next run goes back first
  restore DB               what differs since. --take TABLE/KEY, or TABLE, writes such rows; --end deletes what was read

options
  --reason TEXT     why; kept with the change
  --until DATE      2027-01-31, or 2027-01-31T12:00:00Z
  --yes             changes without asking
  --id ID           sends a change again whose outcome isn't known
  --config FILE     the wrangler.toml of the service (default: the repository's)
  --persist-to DIR  for directory: where the local databases are (default .wrangler/state)
  --help            this text

EMAIL may also be an account's id, or the reference (acct_…) that its owner quotes. The service is PORTAL_URL, by default
that of wrangler.toml, or \`make dev\` before the first deployment. You sign with the secret of your login name, such as
ADMIN_SECRET_ANN, from the environment, or from SECRETS_FILE or the file that \`make deploy\` wrote.
`;

/** What follows each action, and whether it changes something. */
const ACTIONS = {
  list: [[]],
  search: [["text"]],
  tenant: [["name"]],
  show: [["account"]],
  plans: [[]],
  audit: [["account?"]],
  "set-plan": [["account", "plan"], true],
  "grant-checks": [["account", "number"], true],
  "deactivate-key": [["account"], true],
  "reactivate-key": [["account"], true],
  deactivate: [["account"], true],
  reactivate: [["account"], true],
  recover: [["account"], true],
  "stop-recovery": [["account"], true],
  delete: [["account"], true],
  undelete: [["account"], true],
  allow: [["email"], true],
  "set-size": [["plan", "size", "number"], true],
};
const NEED_A_REASON = ["recover", "delete", "allow"];
const TRIES = 5;
const PAUSE_MS = 1_000;

async function main() {
  const { values, positionals } = read();
  if (values.help || positionals.length === 0) {
    process.stdout.write(USAGE);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  const [action, ...words] = positionals;
  const settings = new Settings(values.config);
  if (action === "directory") return directory(settings, values, words);
  if (action === "secret") return replace(settings, words, values);
  if (action === "restore") return restore(settings, words, values);
  if (!Object.hasOwn(ACTIONS, action)) throw new Refusal(`there is no action ${action}\n\n${USAGE}`);
  const [names, isChange] = ACTIONS[action];
  const parameters = named(action, names, words);
  if (values.until !== undefined) parameters.until = end(action, values.until);
  const reason = values.reason ?? "";
  if (NEED_A_REASON.includes(action) && !reason.trim()) throw new Refusal(`${action} needs --reason TEXT`);
  if (values.id && !isChange) throw new Refusal("--id is for changes");
  const service = new Service(settings);
  if (isChange && !values.yes && !(await confirm(service, action, parameters, reason))) {
    throw new Refusal("nothing was changed", 1);
  }
  print(await service.call(action, parameters, reason, values.id ?? randomUUID()));
}

function read() {
  const text = { type: "string" };
  const flag = { type: "boolean" };
  const options = { reason: text, until: text, id: text, config: text, "persist-to": text, yes: flag, now: flag, end: flag, take: text, mend: flag, help: flag };
  try {
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    throw new Refusal(`${error.message}\n\n${USAGE}`);
  }
}

function named(action, names, words) {
  const needed = names.filter((name) => !name.endsWith("?"));
  if (words.length < needed.length || words.length > names.length) {
    throw new Refusal(`expected ${[action, ...names].join(" ").toUpperCase().replace(action.toUpperCase(), action)}\n\n${USAGE}`);
  }
  const parameters = Object.fromEntries(words.map((word, index) => [names[index].replace("?", ""), word]));
  if (parameters.number !== undefined) {
    if (!/^[1-9][0-9]{0,8}$/.test(parameters.number)) throw new Refusal("N must be a whole number from 1 to 999999999");
    parameters.number = Number(parameters.number);
  }
  return parameters;
}

function end(action, until) {
  if (action !== "set-plan") throw new Refusal("only set-plan has --until");
  const time = Date.parse(until);
  if (!/^\d{4}-\d\d-\d\d/.test(until) || !(time > Date.now())) throw new Refusal("--until needs a date that is still to come");
  return new Date(time).toISOString();
}

/** Shows the target and the change, and asks. A deletion asks for the address. */
async function confirm(service, action, { account, ...parameters }, reason) {
  say(`at      ${service.url}, as ${service.person}`);
  let email;
  if (account) {
    const before = await service.call("show", { account }, "", randomUUID());
    email = before.email;
    say(`account ${shown(email)} (${before.state}, ${before.plan}, since ${before.created_at})`);
  }
  say(shown(`change  ${[action, ...Object.values(parameters)].join(" ")}${reason && `, because ${reason}`}`));
  if (action !== "delete") return asks("Go on? [y/N] ");
  return asks("Type the account's address to delete it: ", email);
}

/** The Worker at PORTAL_URL, called by one person. */
class Service {
  constructor(settings) {
    this.url = process.env.PORTAL_URL ?? (settings.isDeployed ? settings.portal : "http://127.0.0.1:8787");
    [this.person, this.secret] = person(settings, this.url);
  }

  /** Repeats a call whose outcome isn't known: with the same id, it takes effect once. Waits for its turn. */
  async call(action, parameters, reason, id) {
    let failure;
    for (let tries = 0; tries < TRIES; ) {
      const reply = await this.send(action, parameters, reason, id).catch((error) => ({ failure: error.cause?.code ?? error.message }));
      if (reply.ok) return reply.body;
      if (reply.status === 429) {
        process.stderr.write(`too many changes; going on in ${reply.wait} s\n`);
        await sleep(reply.wait * 1_000);
        continue;
      }
      tries += 1;
      await sleep(PAUSE_MS * tries);
      failure = reply.failure ?? `${reply.status} ${reply.body?.detail ?? ""}`.trim();
      if (reply.status && reply.status < 500) throw new Refusal(failure.replace(/^4\d\d /, ""));
    }
    throw new Refusal(`${this.url}: ${failure}.${ACTIONS[action]?.[1] ? ` It isn't known whether this was done. Send it again with --id ${id}` : ""}`, 1);
  }

  async send(action, parameters, reason, id) {
    const body = JSON.stringify({
      id,
      host: new URL(this.url).host,
      at: Math.floor(Date.now() / 1000),
      reason,
      action: ACTIONS[action]?.[0].length === 0 ? action : { [action]: parameters },
    });
    const signature = createHmac("sha256", this.secret).update(body).digest("base64");
    const headers = { "Content-Type": "application/json", "webhook-signature": `v1,${signature}` };
    const reply = await fetch(`${this.url}/v1/operator`, { method: "POST", headers, body, signal: AbortSignal.timeout(30_000) });
    const text = await reply.text();
    return { ok: reply.ok, status: reply.status, body: parse(text), wait: Number(reply.headers.get("Retry-After") ?? 1) };
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function directory(settings, { "persist-to": folder, mend }, words) {
  if (words.length > 0) throw new Refusal(`too many words\n\n${USAGE}`);
  const databases = settings.isDeployed ? new RemoteDatabases(settings.file) : new LocalDatabases(folder, settings);
  const wrong = await compare(databases, mend ?? false);
  await databases.close();
  const service = mend && new Service(settings);
  if (mend) await enter(wrong, (accounts) => service.call("enter", { accounts }, "directory", randomUUID()));
  if (wrong.length > 0) return table(wrong);
  process.stdout.write("every account is in the directory\n");
}

/** An account line by line; anything else as a table. */
function print({ applied, ...answer }) {
  if (applied === false) process.stdout.write("This call was done before; nothing was changed now.\n");
  const rows = answer.accounts ?? answer.plans ?? answer.records;
  if (rows) return table(rows);
  for (const [name, value] of Object.entries(answer)) process.stdout.write(`${name.padEnd(22)}${shown(value)}\n`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Refusal || error instanceof Stop)) throw error;
  process.stderr.write(`admin: ${error.message}\n`);
  process.exitCode = error.code ?? 1;
}
