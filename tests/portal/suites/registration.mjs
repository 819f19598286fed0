// Registration and confirmation.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";

export function suite(world) {
  world.test("register, mail, confirm, first verdict", async (reader) => {
    const email = world.newEmail();
    await reader.open("/");
    await reader.follow("Create a free account");
    await reader.reads("Create your account");
    assert.match(await reader.description("Password"), /At least 8 characters/);
    await reader.fill({ "Email address": email, Password: PASSWORD });
    await reader.sees("Strong");
    await reader.press("Create account");
    await reader.reads("Check your inbox");
    await reader.accessible("check your inbox");
    const mail = await reader.stack.mail(email);
    await reader.press("Send it again");
    await reader.sees("Only the newest link works");
    assert.equal(await reader.button("Send it again").count(), 0, "a third would not be sent");
    await reader.page.reload();
    await reader.reads("Check your inbox");
    await reader.sees(email);
    const { link } = await reader.stack.mail(email, 2);

    await reader.open(mail.link);
    await reader.reads("Confirm your email address");
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("This link doesn’t work");
    await reader.accessible("useless link");

    await reader.open(link);
    await reader.reads("Confirm your email address");
    assert.equal(reader.page.url(), `${reader.stack.url}/verify`, "the token has left the address bar");
    await reader.accessible("confirm");
    // A mistyped password is rejected, and the link still works.
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD.slice(1) });
    await reader.press("Confirm my address");
    assert.match(await reader.description("Password again"), /The two passwords differ/);
    await reader.accessible("two passwords");
    await reader.fill({ "Password again": "" });
    await reader.press("Confirm my address");
    assert.match(await reader.description("Password again"), /Enter the password a second time/);
    await reader.fill({ "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("Overview");
    await reader.sees("Your address has been confirmed, and you’re signed in.");
    await reader.accessible("confirmed");
    const history = await reader.page.evaluate(() =>
      JSON.stringify([
        location.href,
        history.state,
        sessionStorage.length,
        localStorage.length,
        document.cookie,
      ]),
    );
    assert.equal(history, JSON.stringify([`${reader.stack.url}/overview`, null, 1, 0, ""]));

    await reader.page
      .getByRole("region", { name: "Check an address" })
      .getByLabel("Email address")
      .fill("accepts@sandbox.test");
    await reader.press("Check");
    await reader.sees("Deliverable: it can receive mail");

    await reader.open(link);
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("This link doesn’t work");
  });

  for (const [path, fields, button] of [
    ["/register", { Password: PASSWORD }, "Create account"],
    ["/forgot", {}, "Send reset link"],
  ]) {
    world.test(`${path}: a domain that gets no email is told at the address`, async (reader) => {
      const detail = "The domain exmaple.org doesn't exist. Check the spelling of your email.";
      await reader.page.route("**/v1/auth/*", (route) =>
        route.fulfill({ status: 400, json: { detail, code: "undeliverable_email" } }),
      );
      await reader.open(path);
      await reader.fill({ "Email address": "ann@exmaple.org", ...fields });
      await reader.press(button);
      await reader.sees(detail.replace("'", "’"));
      assert.match(await reader.description("Email address"), /exmaple\.org doesn’t exist/);
      await reader.accessible(`${path}, a domain without email`);
    });
  }

  world.test("opening a confirmation link confirms nothing", async (reader) => {
    const email = world.newEmail();
    await reader.stack.api("POST", "/v1/auth/register", { body: { email, password: PASSWORD } });
    const { link } = await reader.stack.mail(email);
    await reader.open(link);
    await reader.reads("Confirm your email address");
    assert.deepEqual(await reader.stack.sql("SELECT id FROM accounts WHERE email = ?", email), []);
  });

  world.test("an expired link explains what to do next", async (reader) => {
    const email = world.newEmail();
    await reader.stack.api("POST", "/v1/auth/register", { body: { email, password: PASSWORD } });
    const { link } = await reader.stack.mail(email);
    await reader.stack.sql("UPDATE registrations SET expires_at = 1 WHERE email = ?", email);
    await reader.open(link);
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("This link doesn’t work");
    await reader.sees("it’s older than 24 hours");
    await reader.follow("register again");
    await reader.reads("Create your account");
  });

  world.test("mistakes are told at their fields, the first of which has the focus", async (reader) => {
    await reader.open("/register");
    await reader.press("Create account");
    assert.match(await reader.description("Email address"), /Enter your email address/);
    assert.match(await reader.description("Password"), /Enter a password/);
    await reader.focuses("name", "email");
    await reader.accessible("empty registration");

    await reader.fill({ "Email address": "not an address", Password: "short" });
    await reader.sees("Too short: 3 more characters needed");
    await reader.press("Create account");
    assert.match(await reader.description("Email address"), /This has no @/);
    assert.match(await reader.description("Password"), /This has 5/);

    await reader.fill({ "Email address": "ann@example.org", Password: "password" });
    await reader.press("Create account");
    await reader.sees(/too common/);
    assert.match(await reader.description("Password"), /too common/);
    assert.equal(await reader.field("Password").getAttribute("aria-invalid"), "true");

    for (const [address, mistake] of [
      ["two@@example.org", /more than one @/],
      ["Ann <ann@example.org>", /without a name or angle brackets/],
      [`${"a".repeat(65)}@example.org`, /The part before the @ is too long: 65 characters/],
      ["max@firm", /The part after the @ is incomplete/],
      ["max@firm..de", /Remove the extra dot after the @/],
    ]) {
      await reader.fill({ "Email address": address, Password: PASSWORD });
      await reader.press("Create account");
      assert.match(await reader.description("Email address"), mistake);
    }
    await reader.accessible("refused registration");
  });

  world.test("a slip in a well-known domain is suggested, and nothing else is", async (reader) => {
    await reader.open("/register");
    const suggestion = reader.page.getByRole("status").filter({ hasText: "Did you mean" });
    for (const fine of ["marta@gmail.com", "marta@yahoo.com.br", "marta@example.org", "marta@sandbox.test"]) {
      await reader.fill({ "Email address": fine });
      assert.equal(await suggestion.count(), 0, fine);
    }
    await reader.fill({ "Email address": "marta@gmial.com" });
    await suggestion.waitFor();
    await reader.accessible("suggested address");
    await reader.press("marta@gmail.com");
    assert.equal(await reader.field("Email address").inputValue(), "marta@gmail.com");
    await suggestion.waitFor({ state: "detached" });
  });

  world.test("forms tell the browser what their fields are", async (reader) => {
    const attributes = async (path, name) => {
      await reader.open(path);
      return reader.page.locator(`input[name=${name}]`).getAttribute("autocomplete");
    };
    assert.equal(await attributes("/register", "email"), "email");
    assert.equal(await attributes("/register", "password"), "new-password");
    assert.equal(await attributes("/sign-in", "email"), "username");
    assert.equal(await attributes("/sign-in", "password"), "current-password");
    assert.equal(await attributes("/forgot", "email"), "email");
  });
}
