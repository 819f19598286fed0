// Checks of addresses, and the remaining allowances.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

const source = (file) => readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");

/** Shown text and tone of each verdict. */
const VERDICTS = [
  [
    "accepts@sandbox.test",
    "good",
    "Deliverable: it can receive mail",
    "The server said yes to this recipient.",
  ],
  [
    "rejects@sandbox.test",
    "bad",
    "Undeliverable: it can’t receive mail",
    "The server said there’s no such mailbox.",
  ],
  [
    "full@sandbox.test",
    "bad",
    "Undeliverable: it can’t receive mail",
    "The server said the mailbox is full.",
  ],
  [
    "blocked@sandbox.test",
    "unknown",
    "the mail server declined to answer",
    "It said nothing about the recipient.",
  ],
  ["greylisted@sandbox.test", "unknown", "the mail server declined to answer", "(greylisting)"],
  [
    "unavailable@sandbox.test",
    "unknown",
    "the mail server couldn’t be asked",
    "a temporary failure of its own",
  ],
  ["x@nomx.sandbox.test", "bad", "Undeliverable: the domain doesn’t accept mail", "null MX"],
  [
    "x@nodomain.test",
    "bad",
    "Undeliverable: the domain doesn’t exist",
    "DNS says this domain doesn’t exist.",
  ],
];

export function suite(world) {
  world.test("each verdict is explained with its reason, counted, and listed in this tab", async (reader) => {
    const account = await world.account();
    await reader.enter(account);
    await reader.reads("Overview");
    for (const [at, [email, tone, title, reason]] of VERDICTS.entries()) {
      await checkAddress(reader, email);
      const verdict = reader.page.locator(`[data-tone=${tone}][data-status]`);
      await verdict.getByRole("heading").filter({ hasText: title }).waitFor();
      await verdict.getByText(reason).waitFor();
      await verdict.getByText(email, { exact: true }).waitFor();
      await reader.sees(new RegExp(`^${at + 1} of 100 used`));
      await reader.accessible(`verdict ${email}`);
    }
    await checkAddress(reader, " Ann <accepts@sandbox.test>\n");
    await reader.sees("Cached result from the last hour. Counts as one check.");
    await reader.sees("(from “Ann <accepts@sandbox.test>”)");

    const list = reader.page.getByRole("region", { name: "Checked in this tab" });
    assert.equal(await list.getByRole("listitem").count(), VERDICTS.length + 1);
    await list.getByRole("button", { name: "full@sandbox.test" }).click();
    await list.getByText("The server said the mailbox is full.").waitFor();
    await reader.accessible("a check that was opened again");
    await list.getByRole("button", { name: "full@sandbox.test" }).click();
    assert.equal(await list.getByText("The server said the mailbox is full.").count(), 0);
    await reader.follow("Settings");
    await reader.reads("Settings");
    await reader.follow("Overview");
    await list.waitFor();
    await reader.page.reload();
    await reader.reads("Overview");
    await reader.sees(/^9 of 100 used/);
    assert.equal(await list.count(), 0, "gone with the page");
  });

  world.test("details of newer services: a catch-all is amber, a suggestion is pressed", async (reader) => {
    await reader.enter(await world.account());
    let details = { reason: "accepted_catch_all", stage: "rcpt", catch_all: "yes", verdict: "risky" };
    const asked = [];
    await reader.page.route("**/v1/validate_email", (route) => {
      const request = route.request().postDataJSON();
      asked.push(request.details);
      return route.fulfill({ json: { email: request.email, status: true, cached: false, details } });
    });
    await checkAddress(reader, "accepts@sandbox.test");
    const unsure = reader.page.locator("[data-tone=risky][data-status=true]");
    await unsure.getByRole("heading", { name: "Risky: the domain accepts every name" }).waitFor();
    await reader.accessible("catch-all");

    details = {
      reason: "accepted",
      stage: "rcpt",
      catch_all: "unknown",
      confidence: "low",
      operator: "yahoo",
    };
    await checkAddress(reader, "accepts+low@sandbox.test");
    await unsure.getByRole("heading", { name: "Risky: accepted, but it may not exist" }).waitFor();
    await unsure.getByText("yahoo").waitFor();
    await unsure.getByText("low", { exact: true }).waitFor();

    details = {
      reason: "accepted",
      stage: "rcpt",
      catch_all: "no",
      mx_host: "mx.sandbox.test",
      smtp_code: 250,
      enhanced_code: "2.1.5",
      smtp_text: "Recipient ok",
      retry_after: 300,
      suggestion: "ann@gmail.com",
    };
    await checkAddress(reader, "accepts+typo@sandbox.test");
    await reader.sees("250 2.1.5 Recipient ok");
    await reader.sees("in 5 minutes");
    await reader.accessible("details");
    await reader.press("ann@gmail.com");
    const field = reader.page.getByRole("region", { name: "Check an address" }).getByLabel("Email address");
    assert.equal(await field.inputValue(), "ann@gmail.com");
    assert.equal(await reader.page.locator("[data-status]").count(), 0);
    assert.deepEqual(asked, [true, true, true]);
  });

  world.test("a long address stays in its box", async (reader) => {
    await reader.enter(await world.account());
    const email = `${"a".repeat(64)}@${"b".repeat(60)}.sandbox.test`;
    await checkAddress(reader, email);
    const verdict = reader.page.locator("[data-status]");
    await verdict.waitFor();
    for (const width of [320, 1280]) {
      await reader.page.setViewportSize({ width, height: 800 });
      const overflow = await verdict.evaluate((box) => box.scrollWidth - box.clientWidth);
      assert.ok(overflow <= 0, `${overflow} px too wide in a window of ${width}`);
      const content = await reader.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(content <= width, `${content} px wide in a window of ${width}`);
    }
  });

  world.test("every reason that a verdict can have is put into words", () => {
    const reasons = [...source("shared/src/reason.rs").matchAll(/^ +\w+ = "([a-z0-9_]+)",$/gm)].map(
      ([, reason]) => reason,
    );
    const words = source("edge/portal/src/words/verdicts.ts");
    assert.ok(reasons.length > 20);
    assert.deepEqual(
      reasons.filter((reason) => !words.includes(`\n  ${reason}:`)),
      [],
    );
  });

  world.test("the checks of 30 days are a chart with its numbers in words", async (reader) => {
    const account = await world.account();
    await reader.enter(account);
    await reader.sees("No checks in the last 30 days.");
    await reader.accessible("no checks yet");
    const today = Math.floor(Date.now() / 86_400_000);
    await reader.stack.sql(
      "UPDATE accounts SET days = json_insert(days, '$[#]', json_array(?, 41, 50)) WHERE email = ?",
      today - 2,
      account.email,
    );
    await checkAddress(reader, "accepts@sandbox.test");
    const chart = reader.page.getByRole("region", { name: "Last 30 days" });
    await chart.getByText("42 checks").waitFor();
    const label = /^42 checks in the last 30 days, most on .+: 41$/;
    await chart.getByRole("img", { name: label }).waitFor();
    assert.equal(await chart.locator("rect").count(), 30);
    await reader.accessible("checks by day");
  });

  world.test(
    "the first request is there to copy, with the key that is masked on the page",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account);
      const card = reader.page.getByRole("region", { name: "Use it in your code" });
      const shown = await card.getByRole("tabpanel").innerText();
      assert.ok(shown.includes("••••") && !shown.includes(account.apiKey), shown);
      const command = await reader.copies(card.getByRole("button", { name: "Copy: Example" }));
      const { stdout } = await run("sh", ["-c", command]);
      assert.equal(JSON.parse(stdout).status, true);
    },
    { clipboard: true },
  );

  world.test("the allowances have numbers, and the reset time here and in UTC", async (reader) => {
    await reader.enter(await world.account());
    await reader.sees(/^0 of 100 used/);
    await reader.sees(/^50 left/);
    await reader.sees(/0[12]:00 your time \(00:00 UTC\)/);
    const meter = reader.page.getByRole("meter", { name: "Checks used today" });
    assert.equal(await meter.getAttribute("aria-valuetext"), "0 of 100");
  });

  world.test(
    "what is certainly no address is told at the field, once, and is not charged",
    async (reader) => {
      await reader.enter(await world.account());
      await reader.press("Check");
      await reader.sees("Enter the address to check.");
      for (const [typed, mistake] of [
        ["no address", "This has no @."],
        ["ann＠sandbox.test", "Type @ instead."],
        ["a@b@c.test", "This has more than one @."],
        [`${"a".repeat(65)}@sandbox.test`, "The part before the @ is too long: 65 characters"],
        ["accepts@sandbox.test, rejects@sandbox.test", "Check one address at a time."],
      ]) {
        await checkAddress(reader, typed);
        await reader.sees(mistake);
      }
      await reader.sees(/^0 of 100 used/);
      await reader.accessible("mistaken address");
      await checkAddress(reader, "<script>alert(1)</script>@sandbox.test");
      const field = reader.page.getByRole("region", { name: "Check an address" }).getByLabel("Email address");
      await reader.page.locator("[aria-invalid=true]").waitFor();
      assert.match(await field.getAttribute("aria-describedby"), /mistake/);
      assert.equal(await reader.page.locator("[data-tone=bad]").count(), 0, "said once");
      await reader.accessible("refused check");
    },
  );

  world.test(
    "used-up checks are told with the time of the next ones, and nothing is asked",
    async (reader) => {
      const account = await world.account();
      await useUp(reader.stack, account.email);
      await reader.enter(account);
      await reader.sees("You’ve used all your checks.");
      await reader.sees("The Pro plan has 5,000 checks a day.");
      await reader.accessible("used up");
      await checkAddress(reader, "accepts@sandbox.test");
      await reader.sees(
        /You’ve used all your email checks for today\. Your allowance resets at 0[12]:00 your time \(00:00 UTC\)/,
      );
      await reader.accessible("refused for the limit");
    },
  );

  world.test("too many checks at a time are not told as a used-up allowance", async (reader) => {
    await reader.enter(await world.account());
    await reader.page.route("**/v1/validate_email", (route) =>
      route.fulfill({
        status: 429,
        headers: { "Retry-After": "1" },
        json: {
          detail: { error: "Too many.", limit: "email check", resets_at: "2026-01-31T00:00:01Z" },
          code: "too_many_in_flight",
        },
      }),
    );
    await checkAddress(reader, "accepts@sandbox.test");
    await reader.sees("Too many of your checks are running right now.");
  });

  world.test("an unlimited plan has no bars", async (reader) => {
    const account = await world.account();
    await reader.stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", account.email);
    await reader.enter(account);
    await reader.sees(/today\s+unlimited/);
    assert.equal(await reader.page.getByRole("meter").count(), 0);
    await reader.accessible("unlimited");
  });
}

export async function checkAddress(reader, email) {
  await reader.page.getByRole("region", { name: "Check an address" }).getByLabel("Email address").fill(email);
  await reader.press("Check");
}

export async function useUp(stack, email) {
  const today = Math.floor(Date.now() / 86_400_000);
  await stack.sql(
    "UPDATE accounts SET day = ?, daily_charged = 100, welcome_left = 0 WHERE email = ?",
    today,
    email,
  );
}
