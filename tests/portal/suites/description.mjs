// The OpenAPI document: a linter finds nothing, and its sentences are short and plain.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createConfig, lint } from "@redocly/openapi-core";
import { avoidedIn, overlong } from "./words.mjs";

const FILE = fileURLToPath(new URL("../../../edge/openapi-account.json", import.meta.url));

export function suite() {
  test("redocly's linter finds nothing in the API's description", async () => {
    const config = await createConfig({
      extends: ["recommended-strict"],
      // Three operations report the health of the service, and accept every request.
      rules: { "operation-4xx-response": "off" },
    });
    const problems = await lint({ ref: FILE, config });
    assert.deepEqual(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
      [],
    );
  });

  test("no sentence of the API's description is longer than 25 words, or in words to avoid", () => {
    const sentences = textsOf(JSON.parse(readFileSync(FILE, "utf8"))).flatMap((text) =>
      text.replace(/`[^`]*`/g, "it").split(/(?<=[.?!:;])\s+/),
    );
    assert.ok(sentences.length > 150, `${sentences.length} sentences`);
    assert.deepEqual(overlong(sentences), []);
    assert.deepEqual(
      sentences.filter((sentence) => avoidedIn(sentence).length > 0),
      [],
    );
  });
}

/** Returns the document's texts for people. */
function textsOf(node) {
  if (Array.isArray(node)) return node.flatMap(textsOf);
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([name, value]) =>
    ["summary", "description"].includes(name) && typeof value === "string" ? [value] : textsOf(value),
  );
}
