// The whole service, started and driven by the harness through its program `serve` (devtools/src/serve.rs):
// a command is a line of JSON, and so is its answer.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target");
const SERVE = path.join(TARGET, "debug/serve");

export async function startStack() {
  if (!existsSync(SERVE))
    throw new Error(`there is no ${SERVE}: run \`cargo build --workspace\` or \`make test\` first`);
  const child = spawn(SERVE, { cwd: ROOT, stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const stack = new Stack(child, lines);
  const { url } = await stack.answer();
  return Object.assign(stack, { url });
}

class Stack {
  #child;
  #lines;

  constructor(child, lines) {
    this.#child = child;
    this.#lines = lines;
  }

  async answer() {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("serve has ended");
    return JSON.parse(value);
  }

  /** Gives the harness a command. Answers come in the order of the commands. */
  async tell(command, words = {}) {
    this.#child.stdin.write(`${JSON.stringify({ do: command, ...words })}\n`);
    const { ok, error } = await this.answer();
    if (error !== undefined) throw new Error(`${command}: ${error}`);
    return ok;
  }

  /** Runs one statement on D1 and returns its rows. */
  sql(sql, ...params) {
    return this.tell("sql", { sql, params });
  }

  /** The `nth` mail to an address, from 1, once it is there. */
  mail(to, nth = 1) {
    return this.tell("mail", { to, nth });
  }

  /** An authenticator app: each code works once. */
  authenticator(secret) {
    return {
      code: () => this.tell("code", { secret }),
      wrongCode: () => this.tell("wrong_code", { secret }),
    };
  }

  killOrigin() {
    return this.tell("kill_origin");
  }

  restartOrigin() {
    return this.tell("restart_origin");
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

  async stop() {
    const ended = once(this.#child, "exit");
    this.#child.stdin.end();
    await ended;
  }
}

/** Asks again and again until there is an answer that is neither false nor undefined. */
export async function eventually(what, probe, seconds = 10) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s`);
    await sleep(40);
  }
}
