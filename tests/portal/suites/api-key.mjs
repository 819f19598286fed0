// The API key: masked, copied, replaced.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";

const works = async (stack, key) =>
  (await stack.api("GET", "/v1/me/quota", { headers: { "X-API-Key": key } })).status;

export function suite(world) {
  world.test(
    "the key is hidden until asked for, and copied without being shown",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/api-key");
      await reader.reads("API key");
      const key = reader.page.locator("[data-part=key]");
      assert.match(await key.innerText(), /^rcpt_live_•+\w{4}$/);
      assert.equal(await reader.copies(reader.button("Copy: API key")), account.apiKey);
      await reader.press("Show API key");
      assert.equal(await key.innerText(), account.apiKey);
      await reader.accessible("shown key");
    },
    { clipboard: true },
  );

  world.test(
    "no storage of the browser has the key: after a reload it takes the password, and another tab knows it",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/api-key");
      const stored = () =>
        reader.page.evaluate(() =>
          JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
        );
      assert.doesNotMatch(await stored(), /rcpt_live_/);
      const second = await reader.context.newPage();
      await second.goto("/api-key");
      assert.match(await second.locator("[data-part=key]").innerText(), /^rcpt_live_•+/);
      await second.close();

      await reader.page.reload();
      await reader.sees("This browser doesn’t store your key");
      await reader.accessible("a key that isn't known");
      await reader.press("Show key…");
      await reader.accessible("asked for the password");
      await reader.fill({ Password: "not the password" });
      await reader.press("Show key");
      await reader.sees("That isn’t your password");
      assert.match(await reader.description("Password"), /That isn’t your password/);
      await reader.fill({ Password: PASSWORD });
      await reader.press("Show key");
      await reader.press("Show API key");
      assert.equal(await reader.page.locator("[data-part=key]").innerText(), account.apiKey);
      assert.doesNotMatch(await stored(), /rcpt_live_/);
      const sessions = "SELECT s.id FROM sessions s JOIN accounts a ON a.id = s.account_id WHERE a.email = ?";
      // The session of the registration, and the session of this browser.
      assert.equal((await reader.stack.sql(sessions, account.email)).length, 2, "it starts no session");
    },
  );

  world.test("with two-factor on, showing the key takes a code too", async (reader) => {
    const account = await world.securedAccount();
    await reader.signIn(account, "/sign-in?next=/api-key");
    await reader.press("Use a recovery code instead");
    await reader.fill({ "Recovery code": account.recoveryCodes[0] });
    await reader.press("Sign in");
    await reader.reads("API key");
    await reader.page.reload();
    await reader.press("Show key…");
    await reader.fill({ Password: PASSWORD });
    await reader.press("Show key");
    await reader.fill({ Code: await account.authenticator.wrongCode() });
    await reader.press("Show key");
    await reader.sees("That code is wrong, too old or has been used");
    await reader.accessible("asked for a code before the key is shown");
    await reader.fill({ Code: await account.authenticator.code() });
    await reader.press("Show key");
    await reader.press("Show API key");
    assert.equal(await reader.page.locator("[data-part=key]").innerText(), account.apiKey);
  });

  world.test(
    "replacing asks first; the old key is refused immediately and the new one works",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/api-key");
      await reader.press("Replace key…");
      await reader.page.getByRole("dialog").waitFor();
      await reader.accessible("replace dialog");
      await reader.page.keyboard.press("Escape");
      await reader.page.getByRole("dialog").waitFor({ state: "detached" });
      assert.equal(await works(reader.stack, account.apiKey), 200, "Escape replaces nothing");
      await reader.press("Replace key…");
      await reader.press("Replace key");
      await reader.sees("Your API key has been replaced.");
      assert.equal(await works(reader.stack, account.apiKey), 401);
      await reader.press("Show API key");
      const fresh = await reader.page.locator("[data-part=key]").innerText();
      assert.notEqual(fresh, account.apiKey);
      assert.equal(await works(reader.stack, fresh), 200);
      await reader.accessible("replaced");
    },
  );

  world.test(
    "the key's last use is told, and a new key has none",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/api-key");
      await reader.sees("No check or scan has used this key yet.");
      const headers = { "X-API-Key": account.apiKey };
      const body = { email: "accepts@sandbox.test" };
      assert.equal((await reader.stack.api("POST", "/v1/validate_email", { headers, body })).status, 200);
      // The page must show this UTC day in every time zone.
      await reader.stack.sql(
        `UPDATE accounts SET key_use = json_replace(key_use, '$."0000000000000000"[0]', unixepoch('2025-12-31') / 86400)
         WHERE email = ?`,
        account.email,
      );
      await reader.page.reload();
      await reader.sees("Last used on December 31, 2025.");
      await reader.accessible("a key that was used");
      await reader.press("Replace key…");
      await reader.press("Replace key");
      await reader.sees("No check or scan has used this key yet.");
    },
    { timezoneId: "America/Los_Angeles" },
  );

  world.test("with two-factor on, replacing takes a code", async (reader) => {
    const account = await world.securedAccount();
    await reader.signIn(account, "/sign-in?next=/api-key");
    await reader.press("Use a recovery code instead");
    await reader.fill({ "Recovery code": account.recoveryCodes[0] });
    await reader.press("Sign in");
    await reader.reads("API key");
    await reader.press("Replace key…");
    await reader.press("Replace key");
    await reader.sees("Enter the code.");
    await reader.fill({ Code: await account.authenticator.wrongCode() });
    await reader.press("Replace key");
    await reader.sees("That code is wrong, too old or has been used");
    await reader.accessible("replace with wrong code");
    assert.equal(await works(reader.stack, account.apiKey), 200);
    await reader.fill({ Code: await account.authenticator.code() });
    await reader.press("Replace key");
    await reader.sees("Your API key has been replaced.");
    assert.equal(await works(reader.stack, account.apiKey), 401);
  });

  world.test("a key that was replaced elsewhere is not shown as if it worked", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/api-key");
    const headers = { Authorization: `Bearer ${account.token}` };
    assert.equal(
      (await reader.stack.api("POST", "/v1/auth/rotate-api-key", { headers, body: {} })).status,
      200,
    );
    await reader.follow("Overview");
    await reader.reads("Overview");
    await reader.follow("API key");
    await reader.sees("This key no longer works.");
    await reader.accessible("stale key");
  });
}
