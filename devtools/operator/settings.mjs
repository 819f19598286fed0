// wrangler.toml as `deploy` reads and completes it: single lines are replaced, and everything else stays as it is.
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import { parse } from "smol-toml";
import { ROOT, Stop } from "./platform.mjs";

export const JURISDICTIONS = ["", "eu", "fedramp"];
const ADDRESS = /^[^\s@,"]+@[^\s@,"]+\.[^\s@,"]+$/;
const isUrl = (text, protocols) => URL.canParse(text) && protocols.includes(new URL(text).protocol);

/** Values without a default, each with a description and a check of its format. */
const VALUES = {
  PORTAL_URL: ["address of the portal and the API, https://rcpt.acme.com", (text) => isUrl(text, ["https:"]) && new URL(text).origin === text],
  MAIL_FROM: ["sender of the service's emails, rcpt@acme.com", (text) => ADDRESS.test(text)],
  CONTACT_EMAIL: ["where customers write to", (text) => ADDRESS.test(text)],
};
const EXAMPLE = /\bexample\.(net|com|org)\b/;
const EXAMPLE_ID = /^(0{8}-0{4}-0{4}-0{4}-\d{12}|0{32})$/;

export class Settings {
  constructor(file = path.join(ROOT, "wrangler.toml")) {
    this.file = path.resolve(file);
    this.read();
  }

  read() {
    this.text = fs.readFileSync(this.file, "utf8");
    this.toml = parse(this.text);
  }

  /** Replaces example values by those of the environment or the terminal; returns the names of all changes. */
  async complete() {
    const { vars } = this.toml;
    const missing = Object.keys(VALUES).filter((name) => EXAMPLE.test(vars[name] ?? ((name === "CONTACT_EMAIL" && vars.CONTACT_URL) || "example.net")));
    const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
    const absent = missing.filter((name) => !process.env[name]);
    if (absent.length > 0 && !isTerminal)
      throw new Stop(`missing, in the environment or under [vars] of ${this.file}:\n${absent.map((name) => `  ${name}: ${VALUES[name][0]}`).join("\n")}`);
    const { value: jurisdiction, terminal } = await this.ask(absent, isTerminal && this.databases.every(({ id }) => !id));
    this.jurisdiction = jurisdiction;
    const values = missing.map((name) => [name, (process.env[name] ?? terminal[name]).trim()]);
    const wrong = values.filter(([name, value]) => EXAMPLE.test(value) || !VALUES[name][1](value));
    if (wrong.length > 0) throw new Stop(wrong.map(([name, value]) => `${name}: "${value}" isn't the ${VALUES[name][0]}`).join("\n"));
    for (const [name, value] of values) this.replace(new RegExp(`^${name} = .*$`, "m"), () => `${name} = ${JSON.stringify(value)}`);
    for (const name of Object.keys(VALUES))
      if (!missing.includes(name) && process.env[name] && process.env[name] !== vars[name])
        throw new Stop(`${name} is "${vars[name]}" in ${this.file} and "${process.env[name]}" in the environment: change it in the file`);
    if (!this.toml.routes && !this.toml.route) {
      this.replace(/^workers_dev = false$/m, () => `workers_dev = false\nroutes = [{ pattern = "${this.host}", custom_domain = true }]`);
      missing.push("the custom domain");
    }
    return missing;
  }

  /** A message for each id or value that is still the example's, and for missing contact data. */
  get missing() {
    const { vars = {} } = this.toml;
    const ids = this.databases.filter(({ id }) => !id).map(({ binding, name }) => `${binding}: database_id is the example's; make deploy creates ${name}`);
    const stores = this.stores.filter(({ id }) => !id).map(({ binding }) => `${binding}: id is the example's; make deploy creates the namespace`);
    const values = Object.entries(vars).filter(([, value]) => EXAMPLE.test(value));
    const missing = [...ids, ...stores, ...values.map(([name, value]) => `${name}: "${value}" is the example's`)];
    if (!vars.CONTACT_URL && !vars.CONTACT_EMAIL)
      missing.push("CONTACT_EMAIL or CONTACT_URL: customers have nobody to ask; set one under [vars]");
    return missing;
  }

  async ask(names, isFirst) {
    const terminal = {};
    let value = process.env.JURISDICTION;
    if (names.length === 0 && (!isFirst || value !== undefined)) return { value, terminal };
    const lines = createInterface({ input: process.stdin, output: process.stdout });
    for (const name of names) terminal[name] = await lines.question(`${name} (${VALUES[name][0]}): `);
    if (isFirst) value ??= (await lines.question("JURISDICTION of the databases, for good (eu, fedramp, or empty for none): ")).trim();
    lines.close();
    return { value, terminal };
  }

  /** Whether `deploy` has been run with this file. */
  get isDeployed() {
    return !EXAMPLE.test(this.portal);
  }

  get name() {
    return this.toml.name;
  }

  get account() {
    return process.env.CLOUDFLARE_ACCOUNT_ID || this.toml.account_id;
  }

  get portal() {
    return this.toml.vars.PORTAL_URL;
  }

  get host() {
    return new URL(this.portal).hostname;
  }

  get customDomain() {
    return (this.toml.routes ?? []).some(({ pattern, custom_domain }) => custom_domain && pattern === this.host);
  }

  get mailFrom() {
    return this.toml.vars.MAIL_FROM;
  }

  get crons() {
    return this.toml.triggers.crons;
  }

  get queue() {
    return this.toml.queues.producers[0].queue;
  }

  get main() {
    return this.path(this.toml.main);
  }

  get assets() {
    return this.path(this.toml.assets.directory);
  }

  get migrations() {
    return this.path(this.toml.d1_databases[0].migrations_dir);
  }

  path(relative) {
    return path.resolve(path.dirname(this.file), relative);
  }

  /** Bindings, names and ids; the example's ids are undefined. */
  get databases() {
    return this.toml.d1_databases.map(({ binding, database_name: name, database_id: id }) => ({ binding, name, id: EXAMPLE_ID.test(id) ? undefined : id }));
  }

  get stores() {
    return this.toml.kv_namespaces.map(({ binding, id }) => ({
      binding,
      title: `${this.name}-${binding.toLowerCase()}`,
      id: EXAMPLE_ID.test(id) ? undefined : id,
    }));
  }

  /** True if the file had another id. */
  setDatabase(binding, id) {
    if (this.databases.find((each) => each.binding === binding).id === id) return false;
    this.replace(new RegExp(`(^binding = "${binding}"\\n(?:[^\\n[]+\\n)*?database_id = )"[^"]*"$`, "m"), (_, before) => `${before}"${id}"`);
    return true;
  }

  setStore(binding, id) {
    if (this.stores.find((each) => each.binding === binding).id === id) return false;
    this.replace(new RegExp(`(^binding = "${binding}"\\nid = )"[^"]*"$`, "m"), (_, before) => `${before}"${id}"`);
    return true;
  }

  /** Replaces a line in the file, and keeps edits made in the meantime. */
  replace(pattern, replacement) {
    this.read();
    if (!pattern.test(this.text)) throw new Stop(`${this.file}: there is no line ${pattern.source} to complete`);
    const fresh = `${this.file}.${process.pid}`;
    fs.writeFileSync(fresh, this.text.replace(pattern, replacement));
    fs.renameSync(fresh, this.file);
    this.read();
  }
}
