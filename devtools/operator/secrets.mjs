// The operator's copy of the Worker's secrets: lines of NAME=value in a file of mode 0600, outside any git work tree.
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { homedir, userInfo } from "node:os";
import path from "node:path";
import { ROOT, Stop } from "./platform.mjs";

/** Names of the secrets without which the Worker rejects every request. */
export function neededSecrets() {
  const configuration = fs.readFileSync(path.join(ROOT, "edge/src/config.rs"), "utf8");
  return [...configuration.matchAll(/read\.keys\("(\w+)"\)/g)].map(([, name]) => name);
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

  static generate(name) {
    const value = randomBytes(32).toString("base64url");
    return isAdmin(name) ? value : `k1:${value}`;
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
