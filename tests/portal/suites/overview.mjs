import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const source = (file) => readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8");

/** What a person is told about each, and the tone it is told in. */
const VERDICTS = [
  ["accepts@sandbox.test", "good", "Yes, it can receive mail"],
  ["rejects@sandbox.test", "bad", "No, it cannot receive mail"],
  ["full@sandbox.test", "bad", "No, it cannot receive mail"],
  ["blocked@sandbox.test", "unknown", "would not tell us"],
  ["greylisted@sandbox.test", "unknown", "would not tell us"],
  ["unavailable@sandbox.test", "unknown", "could not be asked"],
  ["x@nomx.sandbox.test", "bad", "The domain takes no mail"],
  ["x@nodomain.test", "bad", "The domain does not exist"],
  ["no address", "bad", "This is not an email address"],
];

export function suite(world) {
  world.test("each verdict is explained as a person would, and counted", async (reader) => {
    const account = await world.account();
    await reader.enter(account);
    await reader.reads("Overview");
    for (const [at, [email, tone, title]] of VERDICTS.entries()) {
      await checkAddress(reader, email);
      await reader.page.locator(`.verdict.${tone}`).getByRole("heading").filter({ hasText: title }).waitFor();
      assert.ok((await reader.page.locator(".verdict-address").innerText()).startsWith(email));
      await reader.sees(new RegExp(`^${at + 1} of 100 used`));
      await reader.accessible(`verdict ${email}`);
    }
    await checkAddress(reader, "Ann <accepts@sandbox.test>");
    await reader.sees("From a check a short time ago");
    await reader.sees("(from “Ann <accepts@sandbox.test>”)");
  });

  world.test("why: the check asks for details, and shows what comes", async (reader) => {
    await reader.enter(await world.account());
    await reader.page.getByLabel("Tell me why").check();
    await checkAddress(reader, "x@nomx.sandbox.test");
    await reader.page.locator(".verdict").waitFor();
    await reader.page.getByLabel("Tell me why").uncheck();
    const asked = [];
    await reader.page.route("**/v1/validate_email", async (route) => {
      asked.push(route.request().postDataJSON());
      const response = await route.fetch();
      const details = {
        reason: "no_such_mailbox",
        stage: "rcpt",
        mx_host: "mx.sandbox.test",
        smtp_code: 550,
        enhanced_code: "5.1.1",
        retry_after: 300,
      };
      await route.fulfill({
        response,
        json: { ...(await response.json()), ...(asked.at(-1).details && { details }) },
      });
    });
    await checkAddress(reader, "rejects@sandbox.test");
    await reader.sees("refused this recipient");
    await reader.page.getByLabel("Tell me why").check();
    await reader.press("Check");
    await reader.sees("The server said that there is no such mailbox.");
    await reader.sees("550 5.1.1");
    await reader.sees("in 5 minutes");
    await reader.accessible("details");
    assert.deepEqual(asked, [
      { email: "rejects@sandbox.test" },
      { email: "rejects@sandbox.test", details: true },
    ]);
  });

  world.test("every reason that a verdict can have is put into words", () => {
    const reasons = [...source("shared/src/reason.rs").matchAll(/=> "([a-z0-9_]+)"/g)].map(
      ([, reason]) => reason,
    );
    const words = source("edge/portal/src/words/verdicts.ts");
    assert.ok(reasons.length > 20);
    assert.deepEqual(
      reasons.filter((reason) => !words.includes(`\n  ${reason}:`)),
      [],
    );
  });

  world.test("the allowances have numbers, and the reset time here and in UTC", async (reader) => {
    await reader.enter(await world.account());
    await reader.sees(/^0 of 100 used/);
    await reader.sees(/^50 left/);
    await reader.sees(/^0 of 1 used/);
    await reader.sees(/0[12]:00 your time \(00:00 UTC\)/);
    const meter = reader.page.getByRole("meter", { name: "Checks used today" });
    assert.equal(await meter.getAttribute("aria-valuetext"), "0 of 100");
  });

  world.test("what cannot be reduced to an address is told at the field", async (reader) => {
    await reader.enter(await world.account());
    await reader.press("Check");
    await reader.sees("Enter the address to check.");
    await checkAddress(reader, "a <b@c.test> <d@e.test>");
    await reader.sees("must hold one address");
    await reader.accessible("refused check");
  });

  world.test(
    "used-up checks are told with the time of the next ones, and nothing is asked",
    async (reader) => {
      const account = await world.account();
      await useUp(reader.stack, account.email);
      await reader.enter(account);
      await reader.sees("You have used all your checks.");
      await reader.accessible("used up");
      await checkAddress(reader, "accepts@sandbox.test");
      await reader.sees(
        /You have used all your email checks for today\. There will be new ones at 0[12]:00 your time \(00:00 UTC\)/,
      );
      await reader.accessible("refused for the limit");
    },
  );

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
