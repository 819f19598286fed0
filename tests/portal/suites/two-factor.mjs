// Turning two-factor authentication on and off.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PASSWORD } from "../world.mjs";

export function suite(world) {
  world.test("turn on, keep the recovery codes, make new ones, turn off", async (reader) => {
    const account = await world.account();
    const region = reader.page.getByRole("region", { name: "Two-factor authentication" });
    await reader.enter(account, "/settings/security");
    await reader.press("Turn on…");
    await region.getByLabel("Password", { exact: true }).fill("not the password");
    await reader.press("Continue");
    await reader.sees("That isn’t your current password");
    await region.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Continue");
    await region.getByRole("img", { name: /QR code/ }).waitFor();
    await reader.accessible("QR code");

    const secret = (await region.locator("[data-part=secret]").innerText()).replaceAll(" ", "");
    const url = new URL(
      await region.getByRole("link", { name: "Open it in your authenticator" }).getAttribute("href"),
    );
    assert.equal(url.searchParams.get("secret"), secret);
    const authenticator = reader.stack.authenticator(secret);
    await reader.fill({ Code: await authenticator.wrongCode() });
    await reader.press("Turn on");
    await reader.sees("That code isn’t right.");
    assert.deepEqual(
      await reader.stack.sql(
        "SELECT f.id FROM second_factors f JOIN accounts a ON a.id = f.account_id WHERE a.email = ?",
        account.email,
      ),
      [],
    );
    const code = await authenticator.code();
    await reader.fill({ Code: `${code.slice(0, 3)} ${code.slice(3)}` });
    await reader.press("Turn on");
    await reader.sees("save your recovery codes");
    await reader.accessible("recovery codes");
    const codes = await region.locator("[data-part=recovery-codes] li").allInnerTexts();
    assert.equal(new Set(codes).size, 10);

    const [download] = await Promise.all([reader.page.waitForEvent("download"), reader.press("Download")]);
    assert.equal(download.suggestedFilename(), "rcpt-recovery-codes.txt");
    const saved = readFileSync(await download.path(), "utf8");
    assert.ok(codes.every((code) => saved.includes(code)));

    await reader.asksBeforeLeaving(true);
    for (const leave of [
      () => reader.page.getByRole("link", { name: "Overview" }).click(),
      () => reader.press("Sign out"),
      () => reader.page.goBack(),
    ]) {
      await leave();
      await reader.sees("Leave without the recovery codes?");
      await reader.accessible("asked before leaving the codes");
      await reader.press("Stay here");
      assert.equal(new URL(reader.page.url()).pathname, "/settings/security");
    }

    await reader.press("Done");
    await reader.sees("Tick the box once you’ve saved the codes.");
    await region.getByLabel("I’ve saved these codes").check();
    await reader.press("Done");
    await reader.sees("10 recovery codes left.");
    await reader.accessible("two-factor on");

    await reader.press("New recovery codes…");
    await reader.page.getByRole("dialog").getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.fill({ Code: await authenticator.code() });
    await reader.press("Make new codes");
    await reader.sees("Save your new recovery codes");
    const fresh = await region.locator("[data-part=recovery-codes] li").allInnerTexts();
    assert.equal(fresh.filter((code) => codes.includes(code)).length, 0);
    await region.getByLabel("I’ve saved these codes").check();
    await reader.press("Done");

    await reader.press("Turn off…");
    await reader.accessible("turn-off dialog");
    await reader.page.getByRole("dialog").getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Use a recovery code instead");
    await reader.fill({ "Recovery code": codes[0] });
    await reader.press("Turn off");
    await reader.sees("That code is wrong, too old or has been used");
    await reader.fill({ "Recovery code": fresh[0] });
    await reader.press("Turn off");
    await region.getByText("Off", { exact: true }).waitFor();
  });

  world.test("few recovery codes left are warned about", async (reader) => {
    const account = await world.securedAccount();
    await reader.stack.sql(
      "DELETE FROM recovery_codes WHERE account_id = (SELECT id FROM accounts WHERE email = ?) AND hash NOT IN (SELECT hash FROM recovery_codes WHERE account_id = (SELECT id FROM accounts WHERE email = ?) LIMIT 1)",
      account.email,
      account.email,
    );
    await reader.signIn(account, "/sign-in?next=/settings/security");
    await reader.reads("Two-factor code");
    await reader.fill({ Code: await account.authenticator.code() });
    await reader.press("Sign in");
    await reader.sees("1 recovery code left.");
    await reader.sees("Make new recovery codes before you run out");
    await reader.accessible("few codes");
  });

  world.test("a recovery by the operator is shown, and stopped", async (reader) => {
    const account = await world.account();
    for (const begun of [
      "INSERT INTO waiting (id, account_id, kind, state, at) SELECT id, id, 'recovery', 'agreed', unixepoch() FROM accounts WHERE email = ?",
      "INSERT INTO changes (account_id, about, kind, deed, at, since) SELECT id, 'recovery', 'recovery_pending', 1, unixepoch(), unixepoch() FROM accounts WHERE email = ?",
    ]) {
      await reader.stack.sql(begun, account.email);
    }
    const lost = "Someone told us that they’ve lost their phone and recovery codes.";
    await reader.enter(account, "/overview");
    await reader.sees(lost);
    await reader.page.getByRole("link", { name: "Settings" }).click();
    await reader.sees(lost);
    await reader.accessible("a pending recovery");
    await reader.press("Stop these changes");
    await reader.page.getByText(lost).waitFor({ state: "detached" });
    assert.deepEqual(await reader.stack.sql("SELECT * FROM waiting WHERE kind = 'recovery'"), []);
  });
}
