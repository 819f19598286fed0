// Starts the built Worker in the local runtime with the settings of wrangler.toml, before they are published: the Worker
// itself says what is wrong with them.
import { createRequire } from "node:module";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Stop } from "./platform.mjs";
import { named, neededRings, newValue } from "./secrets.mjs";

/** Tenths of a second until the Worker has written its log. */
const LINE_TRIES = 100;

const require = createRequire(import.meta.url);

/** The mistakes in the settings, each with the name of its setting; none for another program's Worker. */
export async function rehearse(settings) {
  const { Miniflare, Response } = require("miniflare");
  const folder = path.dirname(settings.main);
  if (!existsSync(settings.main)) throw new Stop(`${settings.main} doesn't exist: make builds it`);
  const files = readdirSync(folder).filter((name) => /\.(js|mjs|wasm)$/.test(name) && path.join(folder, name) !== settings.main);
  const module = (name) => ({
    type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule",
    path: path.join(folder, name),
    contents: readFileSync(path.join(folder, name)),
  });
  const value = newValue();
  const secrets = Object.fromEntries(neededRings().map((ring) => [named(ring, value, Date.now()), value]));
  const lines = [];
  const { toml } = settings;
  const runtime = new Miniflare({
    compatibilityDate: toml.compatibility_date,
    compatibilityFlags: toml.compatibility_flags,
    d1Databases: byName("binding", toml.d1_databases, "database_id"),
    kvNamespaces: byName("binding", toml.kv_namespaces, "id"),
    queueProducers: byName("binding", toml.queues.producers, "queue"),
    ratelimits: byName("name", toml.ratelimits),
    email: { send_email: toml.send_email },
    serviceBindings: { [toml.assets.binding]: () => new Response(null, { status: 404 }) },
    modules: [module(path.basename(settings.main)), ...files.map(module)],
    modulesRoot: folder,
    // Without a .dev.vars beside the file: that is not published.
    bindings: { ...secrets, ...toml.vars },
    cf: false,
    handleRuntimeStdio: (...streams) => {
      for (const stream of streams) createInterface({ input: stream }).on("line", (line) => lines.push(line));
    },
  });
  try {
    const reply = await runtime.dispatchFetch(new URL("/v1/health", settings.portal)).catch(() => undefined);
    // The line of this request comes after those about the settings.
    const isOurs = reply?.headers.has("x-request-id");
    for (let tries = 0; isOurs && tries < LINE_TRIES && !lines.some((line) => line.includes('"request_id"')); tries += 1) await sleep(100);
  } finally {
    await runtime.dispose();
  }
  return lines.flatMap(told);
}

/** What each binding leads to; loading wrangler, which knows, would take longer than the rehearsal. */
function byName(name, bindings = [], member) {
  return Object.fromEntries(bindings.map((each) => [each[name], member ? (each[member] ?? each[name]) : each]));
}

/** What a line of the Worker's log says of the settings. */
function told(line) {
  let entry;
  try {
    entry = JSON.parse(line);
  } catch {
    return [];
  }
  if (entry?.event === "configuration") return entry.warnings;
  const cause = entry?.cause ?? "";
  return cause.startsWith("configuration: ") ? cause.replace("configuration: ", "").split("; ") : [];
}
