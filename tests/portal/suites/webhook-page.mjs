// The webhooks page: its programs accept signed messages only.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { sourceOf } from "./source.mjs";

const run = promisify(execFile);
const TSC = fileURLToPath(new URL("../../../node_modules/.bin/tsc", import.meta.url));
const secretOf = (text) => `whsec_${Buffer.from(text).toString("base64")}`;
const SECRET = secretOf("a secret of twenty-four bytes");

function signed(body, { secret = SECRET, age = 0 } = {}) {
  const timestamp = `${Math.floor(Date.now() / 1000) - age}`;
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`evt_1.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": `v1,${mac}` };
}

/** Returns pairs of headers and whether a receiver must accept the body with them. */
function casesOf(body) {
  const right = signed(body);
  const other = signed(body, { secret: secretOf("another secret") });
  const both = `${other["webhook-signature"]} ${right["webhook-signature"]}`;
  return [
    [right, true],
    [{ ...right, "webhook-signature": both }, true],
    [other, false],
    [signed(`${body} `), false],
    [signed(body, { age: 400 }), false],
    [signed(body, { age: -400 }), false],
    [{ ...right, "webhook-timestamp": "soon" }, false],
    [{ ...right, "webhook-signature": "" }, false],
    [{}, false],
  ];
}

export function suite(world) {
  test("the programs of the webhooks page accept a genuine event, and no other", async () => {
    const { EVENT, VERIFY } = await sourceOf("words/webhooks.ts");
    const body = JSON.stringify(EVENT);
    const { code } = await transform(VERIFY.TypeScript, { loader: "ts" });
    const { isGenuine } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const cases = casesOf(body);
    const wanted = cases.map(([, genuine]) => genuine);
    assert.deepEqual(
      cases.map(([headers]) => isGenuine(SECRET, headers, body)),
      wanted,
    );
    const given = JSON.stringify(cases.map(([headers]) => headers));
    const calls = `import json, sys\nsecret, cases, body = sys.argv[1:]\nprint(json.dumps([is_genuine(secret, case, body.encode()) for case in json.loads(cases)]))`;
    const { stdout } = await run("python3", ["-c", `${VERIFY.Python}\n${calls}`, SECRET, given, body]);
    assert.deepEqual(JSON.parse(stdout), wanted);
  });

  test("the program in TypeScript has types for a strict compiler", async () => {
    const { VERIFY } = await sourceOf("words/webhooks.ts");
    const folder = await mkdtemp(join(tmpdir(), "rcpt-"));
    try {
      const file = join(folder, "program.mts");
      await writeFile(file, `${VERIFY.TypeScript}\ndeclare const Buffer: any;`);
      // The types of Node.js aren't installed here.
      await writeFile(join(folder, "node.d.ts"), 'declare module "node:crypto";');
      const files = [file, join(folder, "node.d.ts")];
      await run(TSC, ["--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", ...files]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  world.test("the webhooks page shows the event, its headers and the program", async (reader) => {
    await reader.open("/webhooks");
    await reader.reads("Webhooks");
    await reader.sees("webhook-signature");
    await reader.sees('"type": "scan.completed"');
    await reader.sees("timingSafeEqual");
    await reader.page.getByRole("combobox", { name: "Language" }).selectOption("Python");
    await reader.sees("def is_genuine");
    await reader.sees("rcpt listen --forward-to http://localhost:3000/hook");
    for (const width of [360, 1280]) {
      await reader.page.setViewportSize({ width, height: 800 });
      await reader.inBothSchemes(`webhooks page at ${width}`);
    }
  });
}
