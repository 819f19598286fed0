// Derives the package's manifest from its source's manifest: pack.mjs FOLDER.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const file = path.join(process.argv[2], "package.json");
const { scripts, publishConfig, ...manifest } = JSON.parse(readFileSync(file, "utf8"));
writeFileSync(file, `${JSON.stringify({ ...manifest, ...publishConfig }, null, 2)}\n`);
