// Who is at this machine, as the Worker knows them.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import path from "node:path";
import { ROOT } from "./platform.mjs";
import { Refusal } from "./terminal.mjs";

/** The person's name and secret: yours, or the only one that is there. */
export function person(settings, url) {
  const found = new Map();
  const add = (text) => {
    for (const [, name, value] of text.matchAll(/^ADMIN_SECRET_(\w+)=["']?([\w-]+)["']?$/gm)) found.set(name.toLowerCase(), value);
  };
  for (const [name, value] of Object.entries(process.env)) add(`${name}=${value}`);
  if (found.size === 0) for (const file of files(settings, url)) add(readFileSync(file, "utf8"));
  const you = userInfo().username.toLowerCase().replace(/\W/g, "_");
  const name = found.has(you) || found.size !== 1 ? you : [...found.keys()][0];
  if (!found.has(name)) throw new Refusal(`there is no ADMIN_SECRET_${name.toUpperCase()}, in the environment or in SECRETS_FILE`);
  return [name, Buffer.from(found.get(name), "base64url")];
}

function files(settings, url) {
  if (process.env.SECRETS_FILE) return [process.env.SECRETS_FILE];
  const local = path.join(ROOT, ".dev.vars");
  if (["127.0.0.1", "localhost"].includes(new URL(url).hostname)) return existsSync(local) ? [local] : [];
  const folder = path.join(process.env.XDG_CONFIG_HOME || path.join(homedir(), ".config"), "rcpt");
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.startsWith(`${settings.name}-`) && name.endsWith(".secrets")).map((name) => path.join(folder, name));
}
