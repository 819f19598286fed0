// Converts wrangler.toml to miniflare's options. This is a separate program, run once for all edges of a test binary:
// loading wrangler takes more than a second of CPU time, half of an edge's start.
//
// node wrangler.mjs WRANGLER.toml OPTIONS.json writes
//   name        the Worker's name
//   main        path of its entry
//   cron        times of its scheduled handler
//   databases   bindings of the D1 databases
//   migrations  {name, statements} of each, in order
//   queue       name of the queue that it consumes
//   options     the Worker's options for miniflare
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

// A plain `import` would first search all of wrangler for exports.
const { unstable_getMiniflareWorkerOptions, unstable_readConfig, unstable_splitSqlQuery } =
  createRequire(import.meta.url)("wrangler");

const [, , file, target] = process.argv;
const config = unstable_readConfig({ config: file });
const { workerOptions, main } = unstable_getMiniflareWorkerOptions(file);
const { modulesRules: _, ...options } = workerOptions;
const { migrations_dir } = config.d1_databases[0];

const folder = path.resolve(path.dirname(file), migrations_dir ?? "migrations");
const names = readdirSync(folder).filter((name) => name.endsWith(".sql")).sort();
const migrations = names.map((name) => ({
  name,
  statements: unstable_splitSqlQuery(readFileSync(path.join(folder, name), "utf8")),
}));

// Not those of the developer's .dev.vars: its secrets would be valid beside a test's.
const { name, triggers, vars } = config;
const databases = config.d1_databases.map(({ binding }) => binding);
const queue = config.queues.consumers[0].queue;
const all = { name, main, cron: triggers.crons[0], databases, migrations, queue, options: { ...options, bindings: vars } };
writeFileSync(target, JSON.stringify(all));
