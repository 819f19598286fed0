#!/usr/bin/env node
// Migrates every local database of wrangler.toml: migrate [--persist-to DIR]. `deploy` migrates the deployed databases.
// The run ends at the first failure, and the next run continues there.
// --forget-throttles resets all throttles, so that nobody has to wait after too many attempts.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { LocalDatabases, MIGRATIONS, statement } from "./databases.mjs";

const require = createRequire(import.meta.url);
const FOLDER = new URL("../../edge/migrations/", import.meta.url);

async function migrate(databases, database) {
  const run = (sql) => databases.run(database, [statement(sql)]);
  await run(MIGRATIONS);
  const applied = new Set((await run("SELECT name FROM d1_migrations")).map(({ name }) => name));
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".sql") && !applied.has(name));
  for (const name of names.sort()) {
    const { unstable_splitSqlQuery: split } = require("wrangler");
    const statements = split(readFileSync(new URL(name, FOLDER), "utf8")).map((sql) => statement(sql));
    statements.push(statement("INSERT INTO d1_migrations (name) VALUES (?1)", name));
    await databases.run(database, statements).catch((error) => {
      throw new Error(`${name}: ${error.message}`);
    });
  }
}

const options = {
  "persist-to": { type: "string" },
  "forget-throttles": { type: "boolean" },
};
let values;
try {
  ({ values } = parseArgs({ options }));
} catch (error) {
  process.stderr.write(`migrate: ${error.message}\nusage: migrate [--persist-to DIR] [--forget-throttles]\n`);
  process.exit(2);
}
const databases = new LocalDatabases(values["persist-to"]);
const { names } = databases;
for (const [index, database] of names.entries()) {
  process.stdout.write(`migrating ${database} (${index + 1} of ${names.length})\n`);
  try {
    await migrate(databases, database);
  } catch (error) {
    process.stderr.write(`migrate: ${database} could not be migrated: ${error.message}\n`);
    process.exitCode = 1;
    break;
  }
}
// All throttles are in the first database.
if (values["forget-throttles"] && !process.exitCode) await databases.run(names[0], [statement("DELETE FROM throttles")]);
await databases.close();
