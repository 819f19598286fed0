// Name, password, sessions and deletion.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { eventually } from "../stack.mjs";
import { PASSWORD } from "../world.mjs";

const FRESH = "another-violet-anchor-12";

export function suite(world) {
  world.test("the display name is saved, and a bad one is told at its field", async (reader) => {
    await reader.enter(await world.account(), "/settings");
    await reader.fill({ Name: "  " });
    await reader.press("Save name");
    await reader.sees("Enter a name.");
    await reader.fill({ Name: "Ann Smith" });
    await reader.press("Save name");
    await reader.sees("Saved.");
    await reader.page.reload();
    await reader.reads("Settings");
    await reader.field("Name").waitFor();
    assert.equal(await reader.field("Name").inputValue(), "Ann Smith");
    await reader.fill({ Name: "x".repeat(101) });
    await reader.press("Save name");
    await reader.sees("at most 100 characters");
    await reader.accessible("refused name");
  });

  world.test(
    "each group of settings has its own address, and the guard is a developer's page",
    async (reader) => {
      await reader.enter(await world.account(), "/settings");
      for (const [section, links] of [
        ["Settings", ["Security", "Notifications", "Plan", "Account"]],
        ["Developers", ["Sign-up guard", "API key"]],
      ]) {
        await reader.page
          .getByRole("navigation", { name: "Main" })
          .getByRole("link", { name: section })
          .click();
        const nav = reader.page.getByRole("navigation", { name: section });
        for (const name of links) {
          await nav.getByRole("link", { name, exact: true }).click();
          await reader.reads(name === "Account" ? "Settings" : name);
          assert.equal(await nav.locator("[aria-current=page]").innerText(), name);
          await reader.settles();
          await reader.page.setViewportSize({ width: 360, height: 740 });
          await reader.inBothSchemes(name);
          await reader.page.setViewportSize({ width: 1280, height: 800 });
        }
      }
    },
  );

  world.test("the address that the account has already is refused in words of its own", async (reader) => {
    const account = await world.account();
    await reader.enter(account, "/settings");
    await reader.press("Change email address…");
    const dialog = reader.page.getByRole("dialog");
    await dialog.getByLabel("New email address").fill(account.email.toUpperCase());
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Send the link");
    await reader.sees("This is the account’s own mailbox. Nothing would change.");
    await dialog.getByLabel("New email address").fill("Ann..Lee@example.org");
    await reader.press("Send the link");
    await reader.sees("This isn’t an email address.");
    await reader.accessible("refused address");
  });

  world.test("changing the password keeps this session and ends the others", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/settings/security");
    await reader.fill({ "Current password": "not the password", "New password": FRESH });
    await reader.press("Change password");
    await reader.sees("That isn’t your current password");
    assert.match(await reader.description("Current password"), /That isn’t your current password/);
    await reader.accessible("wrong current password");
    await reader.fill({ "Current password": PASSWORD, "New password": PASSWORD });
    await reader.press("Change password");
    await reader.sees("Choose a password other than your current one.");
    await reader.fill({ "New password": FRESH });
    await reader.press("Change password");
    await reader.sees("Password changed.");
    const headers = { Authorization: `Bearer ${account.token}` };
    assert.equal((await reader.stack.api("GET", "/v1/me", { headers })).status, 401);
    await reader.page.reload();
    await reader.field("Current password").waitFor();
    const body = { email: account.email, password: FRESH };
    assert.equal((await reader.stack.api("POST", "/v1/auth/login", { body })).status, 200);
  });

  world.test("every sign-in is listed with its browser, and each can be ended", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/settings/security");
    const card = reader.page.getByRole("region", { name: "Sessions" });
    await card.getByText("This browser").waitFor();
    assert.equal(await card.getByRole("listitem").count(), 2);
    await reader.accessible("sessions");
    await card
      .getByRole("listitem")
      .filter({ hasNotText: "This browser" })
      .getByRole("button", { name: /^Sign out/ })
      .click();
    await card.getByRole("listitem").nth(1).waitFor({ state: "detached" });
    const headers = { Authorization: `Bearer ${account.token}` };
    assert.equal((await reader.stack.api("GET", "/v1/me", { headers })).status, 401);
    await card.getByRole("button", { name: "Sign out this browser" }).click();
    await reader.reads("Sign in");
    const left = "SELECT id FROM sessions WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
    await eventually("the session has ended", async () => {
      const rows = await reader.stack.sql(left, account.email);
      return rows.length === 0;
    });
  });

  world.test("security events are listed, the newest first, and all of them on request", async (reader) => {
    const account = await world.account();
    const wrong = { email: account.email, password: "not the password" };
    for (let n = 0; n < 2; n += 1) await reader.stack.api("POST", "/v1/auth/login", { body: wrong });
    const failed = "SELECT count FROM security_events WHERE kind = 'sign_in_failed'";
    await eventually("the failures are noted", async () => {
      const rows = await reader.stack.sql(
        `${failed} AND account_id = (SELECT id FROM accounts WHERE email = ?)`,
        account.email,
      );
      return rows[0]?.count === 2;
    });
    for (let n = 0; n < 9; n += 1) {
      const body = { email: account.email, password: PASSWORD };
      assert.equal((await reader.stack.api("POST", "/v1/auth/login", { body })).status, 200);
    }
    await reader.enterBySigningIn(account, "/settings/security");
    const card = reader.page.getByRole("region", { name: "Security events" });
    await card.getByText("Signed in").first().waitFor();
    assert.equal(await card.getByRole("listitem").count(), 8);
    await reader.accessible("security events");
    await card.getByRole("button", { name: /^Show all 12 events/ }).click();
    await card.getByText("Sign-in failed, 2 times").waitFor();
    assert.equal(await card.getByRole("listitem").count(), 12);
    await reader.accessible("all security events");
  });

  world.test("all data of the account is downloaded as one file", async (reader) => {
    await reader.enter(await world.account(), "/settings");
    const downloading = reader.page.waitForEvent("download");
    await reader.press("Download your data");
    const download = await downloading;
    assert.equal(download.suggestedFilename(), "rcpt-account.json");
    const data = JSON.parse(await readFile(await download.path(), "utf8"));
    assert.equal(data.security_events.events[0].kind, "data_exported");
    assert.equal(data.notifications.webhook_secret, null);
  });

  world.test("another address is agreed to there, and stopped from the present one", async (reader) => {
    const account = await world.account();
    const fresh = world.newEmail();
    await reader.enter(account, "/settings");
    await reader.press("Change email address…");
    await reader.accessible("change of address");
    const dialog = reader.page.getByRole("dialog");
    await dialog.getByLabel("New email address").fill(fresh);
    await dialog.getByLabel("Password", { exact: true }).fill("not the password");
    await reader.press("Send the link");
    await reader.sees("That isn’t your current password");
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Send the link");
    await reader.sees("Open the link we’ve sent to");
    await reader.accessible("link sent");
    const linkOf = ({ text }) => text.match(/^http.*\?token=.*$/m)[0];
    await reader.open(linkOf(await reader.stack.mail(fresh)));
    await reader.reads("Use this email address?");
    await reader.accessible("confirmation of the address");
    await reader.fill({ "Password of your account": PASSWORD });
    await reader.press("Use this address");
    await reader.reads("Your email address will be changed");
    await reader.accessible("address agreed to");
    await reader.enter(account, "/settings");
    await reader.sees("Was this you?");
    await reader.sees("New email address asked for");
    await reader.accessible("open changes");
    // The emails for registration, and the requested change.
    await reader.open(linkOf(await reader.stack.mail(account.email, 2)));
    await reader.reads("Wasn’t that you?");
    for (const width of [1280, 360]) {
      await reader.page.setViewportSize({ width, height: 800 });
      await reader.accessible(`stop ${width}`);
    }
    await reader.press("Stop the changes");
    await reader.reads("Stopped");
    await reader.accessible("stopped");
    const headers = { Authorization: `Bearer ${account.token}` };
    assert.equal((await reader.stack.api("GET", "/v1/me", { headers })).status, 401);
  });

  world.test(
    "open changes are stopped in a session, and a reset shows the keys that it ends",
    async (reader) => {
      const account = await world.account();
      const { stack } = reader;
      const headers = { Authorization: `Bearer ${account.token}` };
      const body = { name: "shop", rights: ["checks"], password: PASSWORD };
      assert.equal((await stack.api("POST", "/v1/keys", { headers, body })).status, 201);
      const change = { email: world.newEmail(), password: PASSWORD };
      assert.equal((await stack.api("POST", "/v1/auth/change-email", { headers, body: change })).status, 202);
      await reader.enter(account, "/settings");
      await reader.press("Stop these changes");
      await reader.sees("New email address asked for");
      assert.equal((await stack.api("GET", "/v1/me", { headers })).status, 200, "this session stays");
      const forgotten = { body: { email: account.email } };
      assert.equal((await stack.api("POST", "/v1/auth/forgot-password", forgotten)).status, 200);
      let link;
      await eventually("the reset link", async () => {
        const mails = await Promise.all([2, 3, 4].map((nth) => stack.mail(account.email, nth)));
        link = mails.map(({ text }) => text.match(/^http.*\/reset\?token=.*$/m)?.[0]).find(Boolean);
        return link !== undefined;
      });
      await reader.open(link);
      await reader.sees("This also takes back recent changes.");
      await reader.accessible("reset with keys");
      await reader.page.getByLabel("Your API key").uncheck();
      await reader.fill({ "New password": FRESH, "New password again": FRESH });
      await reader.press("Set password and sign in");
      await reader.reads("Overview");
      const own = { headers: { "X-API-Key": account.apiKey } };
      assert.equal((await stack.api("GET", "/v1/me/quota", own)).status, 200, "the unticked key stays");
    },
  );

  world.test("signing out everywhere ends every session", async (reader) => {
    const account = await world.account();
    await reader.enterBySigningIn(account, "/settings/security");
    await reader.press("Sign out everywhere…");
    await reader.accessible("sign-out dialog");
    await reader.press("Sign out everywhere");
    await reader.reads("Sign in");
    await reader.sees("You’ve been signed out on every device.");
    const headers = { Authorization: `Bearer ${account.token}` };
    assert.equal((await reader.stack.api("GET", "/v1/me", { headers })).status, 401);
  });

  world.test("deleting the account takes the password and a tick, and is final", async (reader) => {
    const account = await world.account();
    await reader.enter(account, "/settings");
    await reader.press("Delete account…");
    const dialog = reader.page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete account", exact: true }).click();
    await reader.sees("Tick the box to continue.");
    await reader.accessible("delete dialog with mistakes");
    await dialog.getByLabel("Password", { exact: true }).fill("not the password");
    await dialog.getByLabel("I want to delete my account").check();
    await dialog.getByRole("button", { name: "Delete account", exact: true }).click();
    await reader.sees("That isn’t your current password");
    await dialog.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await dialog.getByRole("button", { name: "Delete account", exact: true }).click();
    await reader.reads("Your account has been deleted");
    assert.equal(new URL(reader.page.url()).pathname, "/deleted");
    await reader.accessible("deleted");
    assert.deepEqual(await reader.stack.sql("SELECT id FROM accounts WHERE email = ?", account.email), []);
  });
}
