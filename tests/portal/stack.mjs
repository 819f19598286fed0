// The whole service, started and driven by the harness through its program `serve`
// (devtools/src/serve.rs): commands and responses are lines of JSON. Several commands may run at
// the same time.
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
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, "exit").then(() => Promise.reject(new Error("serve has ended")));
  // Only commands that wait for a response report the error.
  ended.catch(() => {});
  const [first] = await Promise.race([once(lines, "line"), ended]);
  return new Stack(child, lines, ended, JSON.parse(first).url);
}

class Stack {
  #child;
  #ended;
  #commands = 0;
  #waiting = new Map();

  constructor(child, lines, ended, url) {
    this.#child = child;
    this.#ended = ended;
    this.url = url;
    lines.on("line", (line) => {
      const { id, ...answer } = JSON.parse(line);
      this.#waiting.get(id)(answer);
      this.#waiting.delete(id);
    });
  }

  /** Sends a command to the harness, and returns its result. */
  async tell(command, words = {}) {
    const id = (this.#commands += 1);
    const answered = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#child.stdin.write(`${JSON.stringify({ id, do: command, ...words })}\n`);
    const { ok, error } = await Promise.race([answered, this.#ended]);
    if (error !== undefined) throw new Error(`${command}: ${error}`);
    return ok;
  }

  /** Runs one statement on D1 and returns its rows. */
  sql(sql, ...params) {
    return this.tell("sql", { sql, params });
  }

  /** Waits for the `nth` email to an address, counted from 1, and returns it. */
  mail(to, nth = 1) {
    return this.tell("mail", { to, nth });
  }

  /** Returns an authenticator app for the secret; each code works once. */
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
    this.#child.stdin.end();
    await this.#ended.catch(() => {});
  }
}

/** Repeats `probe` until its result is neither false nor undefined, and returns the result. */
export async function eventually(what, probe, seconds = 120) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s`);
    await sleep(40);
  }
}
