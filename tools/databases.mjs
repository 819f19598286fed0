// The databases of wrangler.toml: their bindings, the one with the directory first.
import { readFileSync } from "node:fs";

const configuration = readFileSync(new URL("../wrangler.toml", import.meta.url), "utf8");

export const DATABASES = [...configuration.matchAll(/^binding = "(DB(?:_\d+)?)"$/gm)].map(([, name]) => name);

/** The id of each: locally, what names its file. */
export const IDS = Object.fromEntries(
  [...configuration.matchAll(/^binding = "(DB(?:_\d+)?)"\n(?:[^\n[]+\n)*?database_id = "([^"]+)"$/gm)].map(([, name, id]) => [name, id]),
);
