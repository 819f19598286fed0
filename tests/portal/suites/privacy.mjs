// The privacy page lists the same data as docs/architecture.md.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { sourceOf } from "./source.mjs";

const ARCHITECTURE = new URL("../../../docs/architecture.md", import.meta.url);

/** Returns the first column of the table "Where data lives" in docs/architecture.md. */
function rowsForEngineers() {
  const [, section] = readFileSync(ARCHITECTURE, "utf8").split("## Where data lives");
  const [table] = section.split("\n## ");
  return [...table.matchAll(/^\| (.+?) \| .+ \| .+ \|$/gm)].map(([, row]) => row).slice(1);
}

export function suite(world) {
  test("every row of “Where data lives” is on the privacy page, and nothing else", async () => {
    const { STORED_DATA } = await sourceOf("pages/privacy/data.ts");
    const rows = rowsForEngineers();
    assert.ok(rows.length > 10, rows.join());
    assert.deepEqual(STORED_DATA.map(({ row }) => row).sort(), rows.sort());
  });

  world.test(
    "without JavaScript the privacy page tells of scans, their emails and the copies of the databases",
    async (reader) => {
      await reader.open("/privacy");
      const { STORED_DATA } = await sourceOf("pages/privacy/data.ts");
      const text = await reader.page.locator("main").innerText();
      for (const { what, how } of STORED_DATA) assert.ok(text.includes(what) && text.includes(how), what);
      for (const said of [
        "for a day at most",
        "any minute of the last 30 days",
        "when a scan has ended",
        "Cloudflare",
      ])
        assert.ok(text.includes(said), said);
    },
    { javaScriptEnabled: false },
  );
}
