// Generates the API's types from its description. `npm run check:portal` fails if the portal doesn't match these
// types.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const file = (name) => new URL(name, import.meta.url);
const description = JSON.parse(await readFile(file("../openapi-account.json"), "utf8"));
// In the API description, lists that later versions may extend are open. The portal is deployed with the Worker, so
// it knows all values, and its texts are checked against them.
for (const schema of Object.values(description.components.schemas))
  for (const member of Object.values(schema.properties ?? {}))
    if (member["x-extensible-enum"]) member.enum = member["x-extensible-enum"];
const types = astToString(await openapiTS(description));
await writeFile(
  file("src/api/schema.ts"),
  `// Generated from edge/openapi-account.json. Do not edit.\n${types}`,
);
