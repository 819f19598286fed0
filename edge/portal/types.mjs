// Generates the types of the API from its description, so that the portal can't diverge from it unnoticed: `npm run
// check:portal` fails if they don't match.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const file = (name) => new URL(name, import.meta.url);
const description = JSON.parse(await readFile(file("../openapi.json"), "utf8"));
// The description leaves lists open to which later versions may add values. The portal is deployed with the Worker, so
// it knows all values, and its texts are checked against them.
for (const schema of Object.values(description.components.schemas))
  for (const member of Object.values(schema.properties ?? {}))
    if (member["x-extensible-enum"]) member.enum = member["x-extensible-enum"];
const types = astToString(await openapiTS(description));
await writeFile(file("src/api/schema.ts"), `// Generated from edge/openapi.json. Do not edit.\n${types}`);
