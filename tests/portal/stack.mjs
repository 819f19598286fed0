// The whole service on free ports: a mail server, the real origin, and the built Worker with its portal
// in workerd. Everything it writes is in one scratch folder.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Program, ROOT, eventually, freePort } from "./processes.mjs";
import { startMailServer } from "./smtp.mjs";

const ORIGIN = process.env.RCPT_ORIGIN_BIN ?? path.join(ROOT, "target/debug/origin");
const BUILT = {
  Worker: path.join(ROOT, "edge/build/index.js"),
  portal: path.join(ROOT, "edge/portal/dist/index.html"),
  origin: ORIGIN,
};

const keyRing = () => `test1:${randomBytes(32).toString("base64url")}`;

export async function startStack() {
  for (const [what, file] of Object.entries(BUILT)) {
    if (!existsSync(file))
      throw new Error(`the ${what} is not built: there is no ${file}. Run \`make build\` first`);
  }
  const folder = mkdtempSync(path.join(tmpdir(), "rcpt-portal-"));
  const [port, control, originPort] = [await freePort(), await freePort(), await freePort()];
  const tickets = keyRing();
  const mailServer = await startMailServer();
  const stack = new Stack({ folder, port, control, originPort, tickets, mailServer });
  try {
    await stack.startOrigin();
    await stack.startEdge();
  } catch (error) {
    await stack.stop();
    throw error;
  }
  return stack;
}

class Stack {
  constructor(parts) {
    Object.assign(this, parts);
    this.url = `http://127.0.0.1:${this.port}`;
  }

  async startOrigin() {
    const env = {
      RCPT_LISTEN: `127.0.0.1:${this.originPort}`,
      RCPT_TICKET_SECRETS: this.tickets,
      RCPT_HELO_NAME: "probe.rcpt-tests.net",
      RCPT_MAIL_FROM: "postmaster@rcpt-tests.net",
      RCPT_ALLOW_NETWORKS: "127.0.0.0/8",
      // Nothing listens there: every name that is used has a route.
      RCPT_NAMESERVERS: "127.0.0.1:1",
      RCPT_ROUTES: `sandbox.test=${this.mailServer.address},nomx.sandbox.test=no-mx,down.sandbox.test=127.0.0.1:1`,
    };
    this.origin = new Program("origin", [ORIGIN], { folder: this.folder, env });
    await this.origin.until("an answer of /health", () =>
      answers(`http://127.0.0.1:${this.originPort}/health`),
    );
  }

  async startEdge() {
    const temporary = path.join(this.folder, "tmp");
    mkdirSync(temporary, { recursive: true });
    const names = ["SESSION_SECRETS", "API_KEY_SECRETS", "ADDRESS_SECRET", "TOTP_SECRETS"];
    const settings = {
      wrangler: path.join(ROOT, "wrangler.toml"),
      port: this.port,
      control: this.control,
      state: path.join(this.folder, "state"),
      shielded: false,
      vars: {
        ...Object.fromEntries(names.map((name) => [name, keyRing()])),
        TICKET_SECRETS: this.tickets,
        ORIGINS: `http://127.0.0.1:${this.originPort}`,
        PORTAL_URL: this.url,
        MAIL_FROM: "rcpt@rcpt-tests.net",
        THROTTLE_NETWORK_FREE_ATTEMPTS: "1000000",
      },
    };
    const file = path.join(this.folder, "settings.json");
    writeFileSync(file, JSON.stringify(settings));
    const env = { TMPDIR: temporary, NO_COLOR: "1", WRANGLER_SEND_METRICS: "false" };
    this.edge = new Program("edge", ["node", path.join(ROOT, "tests/src/service/edge.mjs"), file], {
      folder: this.folder,
      env,
    });
    await this.edge.until(
      "ready",
      () => this.edge.text().includes("\nready ") || this.edge.text().startsWith("ready "),
    );
    await this.edge.until("an answer of /v1/health", () => answers(`${this.url}/v1/health`));
  }

  /** Runs one statement on D1 and returns its rows. */
  async sql(sql, ...params) {
    const reply = await fetch(`http://127.0.0.1:${this.control}/sql`, {
      method: "POST",
      body: JSON.stringify({ sql, params }),
    });
    if (!reply.ok) throw new Error(`${sql}: ${await reply.text()}`);
    return reply.json();
  }

  /** Calls the API as a program would. */
  async api(method, route, { body, headers = {} } = {}) {
    const reply = await fetch(this.url + route, {
      method,
      headers: { "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await reply.text();
    return { status: reply.status, body: text === "" ? undefined : JSON.parse(text) };
  }

  /** The mails to an address so far, in the order sent. */
  mailsTo(address) {
    return parseMails(this.edge.text()).filter((mail) => mail.to === address);
  }

  /** The `nth` mail to an address, from 1, once it is there. */
  async mail(address, nth = 1) {
    return eventually(`mail ${nth} to ${address}`, () => this.mailsTo(address)[nth - 1]);
  }

  async stop() {
    await Promise.all([this.edge?.stop(), this.origin?.stop()]);
    this.mailServer.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** The local runtime logs an envelope, an empty line, and the path of the text. */
function parseMails(log) {
  return log
    .split("send_email binding called with MessageBuilder:")
    .slice(1)
    .map((entry) => {
      const line = (name) => new RegExp(`^${name}: (.*)$`, "m").exec(entry)?.[1]?.trim();
      const file = line("Text");
      if (file === undefined || !existsSync(file)) return undefined;
      const text = readFileSync(file, "utf8");
      return { to: line("To"), subject: line("Subject"), text, link: /https?:\/\/\S+/.exec(text)?.[0] };
    })
    .filter((mail) => mail !== undefined);
}
