// Named keys: made, copied, ended, and all replaced.
import assert from "node:assert/strict";
import { eventually } from "../stack.mjs";
import { PASSWORD } from "../world.mjs";

const check = (stack, key) =>
  stack.api("POST", "/v1/validate_email", {
    headers: { "X-API-Key": key },
    body: { email: "accepts@sandbox.test" },
  });

/** Shows the new key of this name, and returns its text. */
async function shownKey(reader, name) {
  await reader.press(`Show key ${name}`);
  return reader.page.locator("[data-part=key]").last().innerText();
}

export function suite(world) {
  world.test("a key is made with its rights, shown once, and ended", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/api-key");
    await reader.sees("There are none yet.");
    await reader.press("Make a key…");
    await reader.inBothSchemes("dialog for a key");
    await reader.press("Make key");
    await reader.sees("Give it a name.");
    await reader.accessible("a key without a name");
    await reader.fill({ Name: "shop", "Checks a day": "many", Password: PASSWORD });
    await reader.press("Make key");
    await reader.sees("Enter a whole number, or leave it empty.");
    await reader.fill({ "Checks a day": "500" });
    await reader.field("Ends").selectOption("After 90 days");
    await reader.field("See plan and allowances").check();
    await reader.press("Make key");
    await reader.sees("Copy “shop” now: it isn’t shown again.");
    await reader.sees("checks, quota; at most 500 checks a day; until");
    await reader.inBothSchemes("a new key");
    const key = await shownKey(reader, "shop");
    assert.match(key, /^rcpt_live_\w{63}$/);
    const quota = await reader.stack.api("GET", "/v1/me/quota", { headers: { "X-API-Key": key } });
    assert.ok([200, 403].includes(quota.status), "a genuine key");

    await reader.press("I’ve copied it");
    await reader.asksBeforeLeaving(false);
    await reader.page.reload();
    await reader.sees("shop");
    assert.equal(await reader.page.locator("[data-part=key]").count(), 0, "not shown again");
    await reader.press("End key shop");
    await reader.accessible("asked before a key ends");
    await reader.page.getByRole("dialog").getByRole("button", { name: "End key", exact: true }).click();
    await reader.sees("There are none yet.");
    assert.equal((await check(reader.stack, key)).status, 401);
  });

  world.test("a test key, and the refusal of a wrong password", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/api-key");
    await reader.press("Make a key…");
    await reader.fill({ Name: "CI", Password: "not the password" });
    await reader.field("Test key: sandbox addresses only, never counted").check();
    await reader.press("Make key");
    await reader.sees("That isn’t your current password");
    await reader.fill({ Password: PASSWORD });
    await reader.press("Make key");
    await reader.sees("Test key, sandbox addresses only");
    assert.match(await shownKey(reader, "CI"), /^rcpt_test_/);
  });

  world.test("new keys stay until they have been copied, and leaving them asks first", async (reader) => {
    const { page } = reader;
    await reader.enterBySigningIn(await world.account(), "/overview");
    await page.getByRole("navigation").getByRole("link", { name: "Developers" }).click();
    await reader.sees("There are none yet.");
    const make = async (name) => {
      await reader.press("Make a key…");
      await reader.fill({ Name: name, Password: PASSWORD });
      await reader.press("Make key");
      await reader.sees(`Copy “${name}” now: it isn’t shown again.`);
      await reader.asksBeforeLeaving(true);
    };
    const keys = () => page.getByRole("img", { name: /^key .+, hidden$/ }).count();
    await make("first");
    await page.getByRole("link", { name: "Overview" }).click();
    await reader.sees("Leave without the new key?");
    await reader.press("Stay here");
    await make("second");
    assert.equal(await keys(), 2, "the first is still there");
    await reader.inBothSchemes("two new keys");

    for (const leave of [
      () => page.getByRole("link", { name: "Overview" }).click(),
      () => reader.press("Sign out"),
      () => page.goBack(),
    ]) {
      await leave();
      await reader.sees("Leave without the new keys?");
      await reader.accessible("asked before leaving the keys");
      await reader.press("Stay here");
      assert.equal(new URL(page.url()).pathname, "/api-key");
    }
    const asked = page.waitForEvent("dialog");
    const reloading = page.evaluate(() => location.reload()).catch(() => {});
    const dialog = await asked;
    assert.equal(dialog.type(), "beforeunload");
    await dialog.dismiss();
    await reloading;
    assert.equal(await keys(), 2, "not reloaded");
    // Neither of these links leaves the page.
    await page.getByRole("navigation").getByRole("link", { name: "Developers" }).click();
    await page.getByRole("link", { name: "Skip to the content" }).press("Enter");
    await reader.focuses("id", "content");
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.equal(await keys(), 2);

    await reader.press("End key first");
    await page.getByRole("dialog").getByRole("button", { name: "End key", exact: true }).click();
    await eventually("the ended key is gone", async () => (await keys()) === 1);
    await reader.press("Replace all keys…");
    await reader.fill({ Password: PASSWORD });
    await reader.press("Replace all keys");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await eventually("the key that is dead isn't shown", async () => (await keys()) === 1);
    await reader.press("I’ve copied it");
    await reader.focuses("tagName", "UL");
    // The page takes its own entry out of the history before the reader goes back; both at once would be one step.
    await page.waitForFunction(() => history.state !== "leaving");
    await page.goBack();
    await reader.reads("Overview");

    await page.getByRole("navigation").getByRole("link", { name: "Developers" }).click();
    await make("third");
    await page.getByRole("link", { name: "Overview" }).click();
    await reader.press("Leave without it");
    await reader.reads("Overview");
  });

  world.test("all keys are replaced", async (reader) => {
    const account = await world.account();
    const headers = { Authorization: `Bearer ${account.token}` };
    const body = { name: "job", rights: ["checks"], password: PASSWORD };
    const { api_key } = (await reader.stack.api("POST", "/v1/keys", { headers, body })).body;
    await reader.enterBySigningIn(account, "/api-key");
    await reader.press("Replace all keys…");
    await reader.fill({ Password: PASSWORD });
    await reader.press("Replace all keys");
    await reader.sees("Copy “job” now: it isn’t shown again.");
    for (const old of [api_key, account.apiKey]) assert.equal((await check(reader.stack, old)).status, 401);
    assert.equal((await check(reader.stack, await shownKey(reader, "job"))).status, 200);
  });
}
