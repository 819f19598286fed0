// Calls Cloudflare's API to read and create resources and to run statements. Wrangler deploys the Worker.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const WRANGLER = `${ROOT}node_modules/.bin/wrangler`;

/** An error that the operator can fix. */
export class Stop extends Error {}

/** Permissions that a token needs for calls, by patterns of their paths. */
const RIGHTS = [
  [/\/d1\//, "Account, D1, Edit"],
  [/\/storage\/kv\//, "Account, Workers KV Storage, Edit"],
  [/\/queues/, "Account, Queues, Edit"],
  [/\/workers\//, "Account, Workers Scripts, Edit"],
  [/\/dns_records/, "Zone, DNS, Read"],
  [/^\/zones/, "Zone, Zone, Read"],
  [/^\/accounts\?/, "Account, Account Settings, Read; or set CLOUDFLARE_ACCOUNT_ID"],
];
const PAGE = 100;
/** Retention of the queue: a scan's messages wait for a day at most. */
const RETENTION_SECONDS = 86_400;

export class Platform {
  /** The platform of the configured account, or of the only account that the token can access. */
  static async open(account) {
    const token = process.env.CLOUDFLARE_API_TOKEN;
    const platform = new Platform(token ? { Authorization: `Bearer ${token}` } : authorise());
    platform.account = account ?? (await platform.onlyAccount());
    process.env.CLOUDFLARE_ACCOUNT_ID = platform.account;
    return platform;
  }

  /** `now` is the platform's time at the last call, in milliseconds. */
  constructor(headers) {
    this.headers = headers;
    this.base = process.env.CLOUDFLARE_API_BASE_URL ?? "https://api.cloudflare.com/client/v4";
  }

  async onlyAccount() {
    const accounts = await this.pages("/accounts");
    if (accounts.length === 1) return accounts[0].id;
    const names = accounts.map(({ id, name }) => `${id} (${name})`).join(", ");
    throw new Stop(`set CLOUDFLARE_ACCOUNT_ID: the token leads to ${accounts.length} accounts${names && `: ${names}`}`);
  }

  databases() {
    return this.pages(`/accounts/${this.account}/d1/database`);
  }

  async createDatabase(name, jurisdiction) {
    const body = jurisdiction ? { name, jurisdiction } : { name };
    return (await this.call("POST", `/accounts/${this.account}/d1/database`, body)).uuid;
  }

  /** Runs statements, {sql, params} each, as one transaction; returns the rows of the last statement. */
  async query(id, statements) {
    const body = statements.length === 1 ? statements[0] : { batch: statements };
    return (await this.call("POST", `/accounts/${this.account}/d1/database/${id}/query`, body)).at(-1).results;
  }

  /** The bookmark of a database now, or at a time. */
  async bookmark(id, time) {
    const query = time ? `?timestamp=${encodeURIComponent(time)}` : "";
    return (await this.call("GET", `/accounts/${this.account}/d1/database/${id}/time_travel/bookmark${query}`)).bookmark;
  }

  /** Leads a database to a bookmark, in place. */
  restore(id, bookmark) {
    return this.call("POST", `/accounts/${this.account}/d1/database/${id}/time_travel/restore?bookmark=${encodeURIComponent(bookmark)}`);
  }

  namespaces() {
    return this.pages(`/accounts/${this.account}/storage/kv/namespaces`);
  }

  async createNamespace(title) {
    return (await this.call("POST", `/accounts/${this.account}/storage/kv/namespaces`, { title })).id;
  }

  queues() {
    return this.pages(`/accounts/${this.account}/queues`);
  }

  createQueue(queue_name) {
    const settings = { message_retention_period: RETENTION_SECONDS };
    return this.call("POST", `/accounts/${this.account}/queues`, { queue_name, settings });
  }

  /** The deployed Worker's settings, or undefined if there is no Worker. */
  worker(name) {
    return this.call("GET", `/accounts/${this.account}/workers/scripts/${name}/settings`, undefined, [404]);
  }

  /** Adds a secret to the deployed Worker, which takes effect within seconds. */
  addSecret(worker, name, text) {
    return this.call("PUT", `/accounts/${this.account}/workers/scripts/${worker}/secrets`, { name, text, type: "secret_text" });
  }

  /** Deletes a secret; nothing happens if it isn't there. */
  deleteSecret(worker, name) {
    return this.call("DELETE", `/accounts/${this.account}/workers/scripts/${worker}/secrets/${name}`, undefined, [404]);
  }

  async crons(name) {
    const reply = await this.call("GET", `/accounts/${this.account}/workers/scripts/${name}/schedules`);
    return reply.schedules.map(({ cron }) => cron);
  }

  /** Tag of the version that gets all requests; undefined without such a version, or if it has no tag. */
  async tag(name) {
    const script = `/accounts/${this.account}/workers/scripts/${name}`;
    const versions = (await this.call("GET", `${script}/deployments`)).deployments[0]?.versions ?? [];
    if (versions.length !== 1) return undefined;
    return (await this.call("GET", `${script}/versions/${versions[0].version_id}`)).annotations?.["workers/tag"];
  }

  /** The custom domain of this name, with its Worker. */
  async domain(host) {
    const domains = await this.call("GET", `/accounts/${this.account}/workers/domains?hostname=${host}`);
    return domains.find(({ hostname }) => hostname === host);
  }

  /** The DNS records of this name. */
  async records(host) {
    const labels = host.split(".");
    for (let index = 0; index < labels.length - 1; index += 1) {
      const [zone] = await this.call("GET", `/zones?name=${labels.slice(index).join(".")}&account.id=${this.account}`);
      if (zone) return this.call("GET", `/zones/${zone.id}/dns_records?name=${host}`);
    }
    throw new Stop(`the account has no zone for ${host}: add the domain to it, or choose another PORTAL_URL`);
  }

  async pages(path) {
    const all = [];
    for (let page = 1; ; page += 1) {
      const some = await this.call("GET", `${path}?page=${page}&per_page=${PAGE}`);
      all.push(...some);
      if (some.length < PAGE) return all;
    }
  }

  /** Calls the API; returns the reply's `result`, or undefined for a status in `expected`. */
  async call(method, path, body, expected = []) {
    let reply, text;
    try {
      reply = await fetch(`${this.base}${path}`, {
        method,
        // An idle connection would be closed while wrangler runs, and the next call would be lost.
        headers: { ...this.headers, "Content-Type": "application/json", Connection: "close" },
        body: body && JSON.stringify(body),
        signal: AbortSignal.timeout(30_000),
      });
      text = await reply.text();
    } catch (error) {
      throw new Stop(`${method} ${path}: no answer (${error.cause?.code ?? error.message}). Run this again`);
    }
    this.now = Date.parse(reply.headers.get("date")) || Date.now();
    if (expected.includes(reply.status)) return undefined;
    const said = parse(text);
    if (reply.ok && said?.success) return said.result;
    const reasons = (said?.errors ?? []).map(({ code, message }) => `${message} [${code}]`).join("; ");
    if (reply.status === 401 || reply.status === 403) {
      const [, right] = RIGHTS.find(([pattern]) => pattern.test(path)) ?? [, "the account"];
      throw new Stop(`the token may not ${method} ${path}: it needs the permission "${right}"${reasons && ` (${reasons})`}`);
    }
    throw new Stop(`${method} ${path}: ${reply.status} ${reasons || text.slice(0, 200)}`);
  }
}

/** Headers with wrangler's credentials: those of the environment, or of `wrangler login`. */
function authorise() {
  const { status, stdout } = spawnSync(WRANGLER, ["auth", "token", "--json"], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  if (status !== 0) throw new Stop("there is no token: set CLOUDFLARE_API_TOKEN, or run npx wrangler login");
  const { type, token, key, email } = JSON.parse(stdout);
  return type === "api_key" ? { "X-Auth-Key": key, "X-Auth-Email": email } : { Authorization: `Bearer ${token}` };
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
