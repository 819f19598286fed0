// Child processes that cannot outlive us: each runs under the harness's leash, which ends it when our end
// of a pipe closes, however we end.
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LEASH = path.join(ROOT, "tests/src/process/leash.sh");
/** Tenths of a second between SIGTERM and SIGKILL. */
const GRACE = "30";

export class Program {
  constructor(name, command, { folder, env }) {
    this.name = name;
    this.log = path.join(folder, `${name}.log`);
    this.ended = false;
    const log = openSync(this.log, "a");
    const [program, ...words] = ["sh", LEASH, GRACE, ...command];
    this.child = spawn(program, words, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["pipe", log, log],
    });
    closeSync(log);
    this.over = once(this.child, "exit").then(() => void (this.ended = true));
  }

  async stop() {
    this.child.stdin.end();
    await this.over;
  }

  text() {
    return readFileSync(this.log, "utf8");
  }

  /** Waits until `probe` gives something; fails with the log when the program ends or is too slow. */
  async until(what, probe, seconds = 60) {
    return eventually(`${this.name}: ${what}`, probe, seconds, () => {
      if (this.ended) throw new Error(`${this.name} has ended:\n${this.text()}`);
    }).catch((error) => {
      throw new Error(`${error.message}\n${this.text().split("\n").slice(-30).join("\n")}`);
    });
  }
}

/** Asks again and again until there is an answer that is neither false nor undefined. */
export async function eventually(what, probe, seconds = 10, between = () => {}) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    between();
    if (Date.now() > deadline) throw new Error(`${what}: not within ${seconds} s`);
    await sleep(40);
  }
}

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
