// Names of the Worker's secrets, and the operator's copy: lines of NAME=value in a file of mode 0600, outside any git work
// tree. A value of a ring is named after its ring, its minute and its id: SESSION_SECRET_20261128T0130_4e13baf98a.
import { createHmac, randomBytes } from "node:crypto";
import fs from "node:fs";
import { homedir, userInfo } from "node:os";
import path from "node:path";
import { ROOT, Stop } from "./platform.mjs";

/** The rings without a value of which the Worker rejects every request. */
export function neededRings() {
  const configuration = fs.readFileSync(path.join(ROOT, "edge/src/config.rs"), "utf8");
  return [...configuration.matchAll(/read\.ring\("(\w+)"\)/g)].map(([, ring]) => ring);
}

export const newValue = () => randomBytes(32).toString("base64url");
/** A value's id (shared/src/key_ring.rs). */
export const idOf = (value) => createHmac("sha256", Buffer.from(value, "base64url")).update("rcpt secret id").digest("hex").slice(0, 10);
/** The name of a ring's value that is made now; times are in milliseconds. */
export const named = (ring, value, now) => `${ring}_${new Date(now).toISOString().slice(0, 16).replace(/[-:]/g, "")}_${idOf(value)}`;
const parts = (name) => name.match(/^(\w+_SECRET)_(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)_[0-9a-f]{10}$/) ?? [];
/** The ring of a value's name; undefined for other names. */
export const ringOf = (name) => parts(name)[1];
/** The minute of a value's making. */
export function made(name) {
  const [, , year, month, ...rest] = parts(name).map(Number);
  return Date.UTC(year, month - 1, ...rest);
}

/** Whether it is an operator's secret; each operator has one. */
export const isAdmin = (name) => name.startsWith("ADMIN_SECRET_");
/** Name of the secret of who is at this machine. */
export const ownAdmin = () => `ADMIN_SECRET_${userInfo().username.toUpperCase().replace(/\W/g, "_")}`;

export class SecretsFile {
  /** The file is `SECRETS_FILE`, or a default file for this Worker and account. */
  constructor(worker, account) {
    const folder = process.env.XDG_CONFIG_HOME || path.join(homedir(), ".config");
    this.path = path.resolve(process.env.SECRETS_FILE || path.join(folder, "rcpt", `${worker}-${account.slice(0, 8)}.secrets`));
  }

  read() {
    let text;
    try {
      text = fs.readFileSync(this.path, "utf8");
    } catch (error) {
      if (error.code === "ENOENT") return {};
      throw new Stop(`${this.path}: ${error.message}`);
    }
    const lines = text.split("\n").filter((line) => line && !line.startsWith("#"));
    if (lines.some((line) => !/^\w+=\S+$/.test(line))) throw new Stop(`${this.path}: a line isn't NAME=value`);
    return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  }

  /** Writes the file atomically, and returns once it is on the disk. */
  write(secrets) {
    const folder = path.dirname(this.path);
    const text = Object.entries(secrets).map(([name, value]) => `${name}=${value}\n`).join("");
    const fresh = `${this.path}.${process.pid}`;
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      this.refuseWorkTree(fs.realpathSync(folder));
      const descriptor = fs.openSync(fresh, "wx", 0o600);
      try {
        fs.writeFileSync(descriptor, text);
        fs.fsyncSync(descriptor);
      } finally {
        fs.closeSync(descriptor);
      }
      fs.renameSync(fresh, this.path);
      const parent = fs.openSync(folder, "r");
      fs.fsyncSync(parent);
      fs.closeSync(parent);
    } catch (error) {
      fs.rmSync(fresh, { force: true });
      if (error instanceof Stop) throw error;
      throw new Stop(`the secrets can't be written to ${this.path}: ${error.message}. SECRETS_FILE names another place`);
    }
  }

  refuseWorkTree(folder) {
    for (let each = folder; ; each = path.dirname(each)) {
      if (fs.existsSync(path.join(each, ".git")))
        throw new Stop(`${this.path} lies in the git work tree ${each}: name another place in SECRETS_FILE`);
      if (each === path.dirname(each)) return;
    }
  }
}
