// Sign-in, two-factor codes, and a forgotten password.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";

export function suite(world) {
  world.test("a wrong password is told without saying which of the two it was", async (reader) => {
    await reader.open("/sign-in");
    await reader.fill({ "Email address": (await world.account()).email, Password: "not the password" });
    await reader.press("Sign in");
    await reader.sees("The email or password is wrong");
    await reader.accessible("wrong password");
  });

  world.test(
    "two-factor: the code is asked for only when needed, and a wrong one is told at its field",
    async (reader) => {
      const account = await world.securedAccount();
      await reader.signIn(account);
      await reader.reads("Two-factor code");
      assert.equal(await reader.field("Code").getAttribute("autocomplete"), "one-time-code");
      await reader.accessible("code");
      await reader.fill({ Code: await account.authenticator.wrongCode() });
      await reader.press("Sign in");
      await reader.sees("That code is wrong, too old or has been used");
      assert.match(await reader.description("Code"), /That code is wrong/);
      await reader.accessible("wrong code");
      const calls = [];
      reader.page.on("request", (request) => calls.push(request.url()));
      for (const typed of ["12 34", "abcd"]) {
        await reader.fill({ Code: typed });
        await reader.press("Sign in");
        await reader.sees("Enter the 6 digits from your app");
      }
      assert.deepEqual(calls, [], "no attempt is used up");
      await reader.fill({ Code: asShown(await account.authenticator.code()) });
      await reader.press("Sign in");
      await reader.reads("Overview");
    },
  );

  world.test(
    "the tabs of one browser share the session, and signing out in one ends it in all",
    async (reader) => {
      const account = await world.account();
      await reader.enter(account);
      const [second] = await Promise.all([
        reader.context.waitForEvent("page"),
        reader.page.getByRole("link", { name: "Docs" }).click({ modifiers: ["ControlOrMeta"] }),
      ]);
      await second.getByRole("heading", { level: 1, name: "API reference" }).waitFor();
      await second.getByTitle(account.email).waitFor();
      await second.goto("/settings");
      await second.getByLabel("Name", { exact: true }).waitFor();
      await reader.press("Sign out");
      await reader.reads("Sign in");
      await second.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      await second.getByText("You’ve been signed out.").waitFor();
      await reader.fill({ "Email address": ` ${account.email} `, Password: PASSWORD });
      await reader.press("Sign in");
      await reader.reads("Overview");
      await second.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    },
  );

  world.test(
    "a person who stays signed in on the device closes every tab; signing out leaves nothing there",
    async (reader) => {
      const account = await world.account();
      const kept = (page) =>
        page.evaluate(() => [sessionStorage.getItem("rcpt.session"), localStorage.getItem("rcpt.session")]);
      await reader.signIn(account);
      await reader.reads("Overview");
      assert.equal((await kept(reader.page))[1], null, "without the tick, the tab alone has it");
      await reader.press("Sign out");
      await reader.fill({ "Email address": account.email, Password: PASSWORD });
      await reader.page.getByLabel("Stay signed in on this device").check();
      await reader.accessible("staying signed in");
      await reader.press("Sign in");
      await reader.reads("Overview");
      const [tab, device] = await kept(reader.page);
      assert.equal(tab, null);
      assert.ok(!device.includes(account.apiKey) && !device.includes("api_key"), device);
      await reader.open("about:blank");
      const later = await reader.context.newPage();
      await later.goto("/overview");
      await later.getByTitle(account.email).waitFor();
      await later.getByRole("button", { name: "Sign out" }).click();
      await later.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      assert.deepEqual(await kept(later), [null, null]);
      // A token that has expired meanwhile opens nothing and goes.
      const claims = Buffer.from(JSON.stringify({ exp: 1 })).toString("base64url");
      await later.evaluate(
        (token) => localStorage.setItem("rcpt.session", JSON.stringify({ token, email: "x", stays: true })),
        `x.${claims}.x`,
      );
      await later.goto("/overview");
      await later.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
      assert.deepEqual(await kept(later), [null, null]);
    },
  );

  world.test("signing out ends the session on the service too", async (reader) => {
    await reader.enter(await world.account());
    const { token } = await reader.page.evaluate(() => JSON.parse(sessionStorage.getItem("rcpt.session")));
    const [request] = await Promise.all([
      reader.page.waitForRequest("**/v1/auth/sign-out"),
      reader.press("Sign out"),
    ]);
    assert.equal(request.method(), "POST");
    assert.equal(await request.headerValue("authorization"), `Bearer ${token}`);
    await reader.reads("Sign in");
  });

  world.test("a recovery code signs in once", async (reader) => {
    const account = await world.securedAccount();
    for (const [attempt, works] of [
      [1, true],
      [2, false],
    ]) {
      await reader.signIn(account);
      await reader.press("Use a recovery code instead");
      await reader.fill({ "Recovery code": account.recoveryCodes[0] });
      await reader.press("Sign in");
      if (!works) await reader.sees("That code is wrong, too old or has been used");
      else {
        await reader.reads("Overview");
        await reader.press("Sign out");
        await reader.sees("You’ve been signed out.");
      }
      assert.ok(attempt);
    }
  });

  world.test("an unconfirmed account is told how to get a new link", async (reader) => {
    const email = world.newEmail();
    await reader.stack.api("POST", "/v1/auth/register", { body: { email, password: PASSWORD } });
    await reader.stack.mail(email);
    await reader.signIn({ email });
    await reader.sees("Haven’t confirmed your address yet?");
    await reader.accessible("unconfirmed");
    await reader.follow("Register again");
    await reader.reads("Create your account");
    await reader.fill({ "Email address": email, Password: PASSWORD });
    await reader.press("Create account");
    await reader.reads("Check your inbox");
    await reader.open((await reader.stack.mail(email, 2)).link);
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("Overview");
  });

  world.test("a deactivated account is told so", async (reader) => {
    const account = await world.account();
    await reader.stack.sql("UPDATE accounts SET state = 'deactivated' WHERE email = ?", account.email);
    await reader.signIn(account);
    await reader.sees("This account has been deactivated.");
  });

  world.test(
    "forgot and reset: a new password, with a code when two-factor is on, and a link that works once",
    async (reader) => {
      const account = await world.securedAccount();
      // Its second factor has been on for four days.
      await reader.stack.sql(
        "UPDATE changes SET since = unixepoch() - 4 * 86400 WHERE account_id = (SELECT id FROM accounts WHERE email = ?)",
        account.email,
      );
      await reader.open("/sign-in");
      await reader.follow("Forgot your password?");
      await reader.reads("Forgot your password?");
      await reader.fill({ "Email address": account.email });
      await reader.press("Send reset link");
      await reader.reads("Check your inbox");
      const { link } = await resetMail(reader.stack, account.email);
      await reader.open(link);
      await reader.reads("Set a new password");
      assert.equal(reader.page.url(), `${reader.stack.url}/reset`, "the token has left the address bar");
      await reader.accessible("reset");
      await reader.fill({ "New password": "password", "New password again": "password" });
      await reader.press("Set password and sign in");
      await reader.sees(/too common/);
      const typed = "another-violet-anchor-12";
      await reader.fill({ "New password": typed, "New password again": "another-violet-ancor-12" });
      await reader.press("Set password and sign in");
      assert.match(await reader.description("New password again"), /The two passwords differ/);
      await reader.fill({ "New password again": typed });
      await reader.press("Set password and sign in");
      await reader.sees("Two-factor authentication is on for this account");
      await reader.accessible("reset with code");
      await reader.fill({ Code: await account.authenticator.code() });
      await reader.press("Set password and sign in");
      await reader.reads("Overview");
      await reader.sees("Your new password has been set");

      await reader.open(link);
      const later = "another-violet-anchor-13";
      await reader.fill({ "New password": later, "New password again": later });
      await reader.press("Set password and sign in");
      await reader.reads("This link doesn’t work");
      await reader.accessible("used reset link");
      await reader.follow("Get a new link");
      await reader.reads("Forgot your password?");
    },
  );

  world.test("a stranger's address gets the same answer as a member's", async (reader) => {
    for (const email of [(await world.account()).email, world.newEmail()]) {
      await reader.open("/forgot");
      await reader.fill({ "Email address": email });
      await reader.press("Send reset link");
      await reader.reads("Check your inbox");
      await reader.sees("has an account, a reset link is on its way");
      await reader.press("Use another address");
    }
  });

  world.test("too many attempts say how long to wait", async (reader) => {
    const { email } = await world.account();
    const body = { email, password: "wrong password" };
    while ((await reader.stack.api("POST", "/v1/auth/login", { body })).status !== 429);
    await reader.open("/sign-in");
    await reader.fill({ "Email address": email, Password: "wrong password" });
    await reader.press("Sign in");
    await reader.sees(/Too many attempts\. Try again in \d+ (second|minute)s?\./);
    await reader.accessible("throttled");
  });
}

/** Returns the code as authenticator apps show it. */
const asShown = (code) => `${code.slice(0, 3)} ${code.slice(3)}`;

async function resetMail(stack, email) {
  for (let nth = 1; ; nth += 1) {
    const mail = await stack.mail(email, nth);
    if (mail.link?.includes("/reset?token=")) return mail;
  }
}
