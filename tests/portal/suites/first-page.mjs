// The home page: complete without JavaScript, correct, and small.
//
// With WRITE_RECORDED=1, this suite writes the recorded responses of the try-it field instead of comparing them.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { sourceOf } from "./source.mjs";

const DIST = fileURLToPath(new URL("../../../edge/portal/dist", import.meta.url));
const RECORDED = fileURLToPath(new URL("../../../edge/portal/src/pages/home/recorded.ts", import.meta.url));

/** Addresses of the try-it field, in the field's order. */
const ADDRESSES = [
  "accepts@sandbox.test",
  "rejects@sandbox.test",
  "full@sandbox.test",
  // Without the tag, words of the reply could be mistaken for the recipient's name.
  "blocked+demo@sandbox.test",
  "greylisted+demo@sandbox.test",
  "anyone@catchall.sandbox.test",
  "x@nodomain.test",
];

/** Maximum number of bytes of gzipped JavaScript that a first visit loads. */
const SCRIPT_LIMIT = 30_000;

export function suite(world) {
  world.test("the recorded answers are those of the service", async ({ stack }) => {
    const { apiKey } = await world.account();
    const answers = [];
    for (const email of ADDRESSES) {
      const { status, body } = await stack.api("POST", "/v1/validate_email", {
        headers: { "X-API-Key": apiKey },
        // The tag avoids a cached result, which would lack the server's text.
        body: { email: email.replace("@", "+recorded@"), details: true },
      });
      assert.equal(status, 200, email);
      // The sandbox's address differs between machines.
      answers.push({ ...body, email, details: { ...body.details, mx_host: null } });
    }
    if (process.env.WRITE_RECORDED !== undefined) return record(answers);
    const { RECORDED: recorded } = await sourceOf("pages/home/recorded.ts");
    // A newer service may add members to the recorded response, but not change existing ones.
    const told = answers.map((answer, at) => ({
      ...Object.fromEntries(Object.keys(recorded[at]).map((name) => [name, answer[name]])),
      details: Object.fromEntries(
        Object.keys(recorded[at].details).map((name) => [name, answer.details[name]]),
      ),
    }));
    assert.deepEqual(recorded, told, "WRITE_RECORDED=1 npm run test:portal records them again");
  });

  world.test("the plans it names are those of the service", async ({ stack }) => {
    const { FREE, PRO } = await sourceOf("plans.ts");
    const { email, apiKey } = await world.account();
    for (const [name, plan] of [
      ["free", FREE],
      ["pro", PRO],
    ]) {
      await stack.sql("UPDATE accounts SET plan = ? WHERE email = ?", name, email);
      const { body } = await stack.api("GET", "/v1/me/quota", { headers: { "X-API-Key": apiKey } });
      assert.equal(body.plan, name);
      assert.equal(body.email_checks.daily_allowance, plan.checksPerDay, name);
      assert.equal(body.email_checks.welcome_left, plan.welcomeChecks, name);
      assert.equal(body.scans.daily_allowance, plan.scansPerDay, name);
      assert.equal(body.scans.scan_size, plan.scanSize, name);
    }
  });

  world.test(
    "without JavaScript it says what it is, why, what it costs, how private it is and how to start",
    async (reader) => {
      await reader.open("/");
      const text = await reader.page.locator("main").innerText();
      for (const said of [
        "Can this address receive mail?",
        "A closed door isn’t a missing mailbox",
        "550 5.7.1",
        '"status": "blocked_by_provider"',
        "100 checks a day",
        "5,000 checks a day",
        "Never stored, never logged",
        "Clean a whole list",
        "One scan a day, with up to 200 addresses each",
        "20 scans a day, with up to 10,000 addresses each",
        "Every verdict counts as a check",
        "Webhooks",
        "curl",
      ])
        assert.ok(text.includes(said), said);
      await reader.page.getByRole("link", { name: "Create a free account" }).first().waitFor();
    },
    { javaScriptEnabled: false },
  );

  world.test("the try-it replays each answer, and calls no API", async (reader) => {
    const called = [];
    reader.page.on("request", (request) => {
      if (new URL(request.url()).pathname.startsWith("/v1/")) called.push(request.url());
    });
    await reader.open("/");
    const tryIt = reader.page.getByRole("region", { name: "Try it" });
    for (const [label, title] of [
      ["Mailbox full", "Undeliverable: it can’t receive mail"],
      ["Blocks us", "Unknown: the mail server declined to answer"],
      ["Accepts everything", "Risky: the domain accepts every name"],
      ["No such domain", "Undeliverable: the domain doesn’t exist"],
      ["Accepts", "Deliverable: it can receive mail"],
    ]) {
      await tryIt.getByRole("button", { name: label, exact: true }).click();
      await tryIt.getByRole("heading", { name: title }).waitFor();
    }
    await reader.accessible("try-it");
    assert.deepEqual(called, []);
  });

  world.test("a member is offered a check instead of an account", async (reader) => {
    await reader.enter(await world.account());
    await reader.open("/");
    await reader.page.getByRole("link", { name: "Check an address" }).first().waitFor();
    assert.equal(await reader.page.getByRole("link", { name: "Create a free account" }).count(), 0);
    await reader.accessible("home of a member");
  });

  world.test("its JavaScript is small", () => {
    const html = readFileSync(path.join(DIST, "index.html"), "utf8");
    const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, url]) => url);
    const size = scripts.reduce(
      (sum, url) => sum + gzipSync(readFileSync(path.join(DIST, url)), { level: 9 }).length,
      0,
    );
    assert.ok(scripts.length > 0 && size <= SCRIPT_LIMIT, `${size} bytes`);
  });
}

function record(answers) {
  const source = `// Written by tests/portal/suites/first-page.mjs: the service's answers for sandbox addresses.
import type { ValidationResult } from "../../api/details";

export const RECORDED: readonly [ValidationResult, ...ValidationResult[]] = ${JSON.stringify(answers)};
`;
  writeFileSync(RECORDED, source);
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  execFileSync("npx", ["prettier", "--log-level", "warn", "--write", RECORDED], { cwd: root });
}
