// The portal's behaviour on failures of the session, the API and the network.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";
import { checkAddress } from "./overview.mjs";

export function suite(world) {
  world.test("a session that ends mid-way leads to sign-in and back to the same page", async (reader) => {
    const account = await world.account();
    await reader.enter(account, "/settings");
    await reader.field("Name").waitFor();
    const headers = { Authorization: `Bearer ${account.token}` };
    const { status } = await reader.stack.api("POST", "/v1/auth/sign-out-everywhere", { headers });
    assert.equal(status, 204);
    await reader.fill({ Name: "Ann" });
    await reader.press("Save name");
    await reader.reads("Sign in");
    await reader.sees("Your session has ended. Sign in to pick up where you left off.");
    await reader.accessible("session over");
    assert.equal(await reader.page.evaluate(() => sessionStorage.length), 0);
    await reader.fill({ "Email address": account.email, Password: PASSWORD });
    await reader.press("Sign in");
    await reader.reads("Settings");
  });

  world.test("a forged or damaged session in storage is not trusted", async (reader) => {
    await reader.open("/");
    for (const stored of ["nonsense", "{}", JSON.stringify({ token: "x.y.z", email: "ann@example.org" })]) {
      await reader.page.evaluate((value) => sessionStorage.setItem("rcpt.session", value), stored);
      await reader.open("/overview");
      await reader.reads("Sign in");
    }
  });

  world.test("with the API down, every page of a member says so and offers to try again", async (reader) => {
    const account = await world.account();
    await reader.enter(account);
    await reader.sees(/0 of 100 used/);
    await reader.page.route("**/v1/**", (route) => route.abort("connectionrefused"));
    for (const path of ["/overview", "/api-key", "/settings", "/docs"]) {
      await reader.open(path);
      await reader.sees("The service is unavailable");
      await reader.sees("We couldn’t reach the service. Check your connection, then try again.");
      await reader.accessible(`${path} without the API`);
    }
    await reader.page.unroute("**/v1/**");
    await reader.press("Try again");
    await reader.page.locator("#validateEmail").waitFor();
  });

  world.test("forms survive an API that is down: what was typed stays", async (reader) => {
    const { page } = reader;
    await page.route("**/v1/**", (route) =>
      route.fulfill({
        status: 503,
        headers: { "Retry-After": "10" },
        json: {
          detail: "The service is temporarily unavailable. Try again in 10 seconds.",
          code: "unavailable",
        },
      }),
    );
    const email = world.newEmail();
    await reader.open("/register");
    await reader.fill({ "Email address": email, Password: PASSWORD });
    await reader.press("Create account");
    await reader.sees(
      "The service is unavailable right now, and nothing was changed. Try again in 10 seconds.",
    );
    await reader.accessible("registration, API down");
    await page.unroute("**/v1/**");
    await page.route("**/v1/**", (route) => route.fulfill({ status: 520, body: "<html>proxy</html>" }));
    await reader.press("Create account");
    await reader.sees("Something went wrong on our side.");
    await page.unroute("**/v1/**");
    await reader.press("Create account");
    await reader.reads("Check your inbox");
  });

  world.test(
    "on a slow network the page comes, says what it waits for, and a second press sends nothing",
    async (reader) => {
      const { page } = reader;
      const account = await world.account();
      const link = await reader.context.newCDPSession(page);
      await link.send("Network.enable");
      await link.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: 300,
        downloadThroughput: 50_000,
        uploadThroughput: 20_000,
      });
      await reader.open("/sign-in");
      await reader.reads("Sign in");

      const [login, quota] = [await hold(page, "**/v1/auth/login"), await hold(page, "**/v1/me/quota")];
      await reader.fill({ "Email address": account.email, Password: PASSWORD });
      await reader.press("Sign in");
      const button = page.getByRole("button", { name: "Signing in…" });
      await button.waitFor();
      assert.equal(await button.getAttribute("aria-busy"), "true");
      assert.equal(
        await button.evaluate((element) => document.activeElement === element),
        true,
        "it keeps the focus",
      );
      await page.keyboard.press("Enter");
      await reader.accessible("signing in");
      login.release();
      await page.getByRole("status", { name: "Loading your allowances" }).waitFor();
      await reader.accessible("loading");
      quota.release();
      await reader.sees(/0 of 100 used/);
      assert.equal(login.count(), 1);

      const check = await hold(page, "**/v1/validate_email");
      await checkAddress(reader, "accepts+slow@sandbox.test");
      await reader.sees("Asking the mail server. A slow one can take up to ten seconds.");
      await reader.accessible("checking");
      check.release();
      await reader.sees("Deliverable: it can receive mail");
    },
  );

  world.test("a page that cannot be loaded offers to try again", async (reader) => {
    await reader.open("/");
    await reader.page.route("**/assets/docs-*.js", (route) => route.abort());
    await reader.follow("Docs");
    await reader.page.getByRole("heading", { level: 1, name: "This page couldn’t be loaded" }).waitFor();
    await reader.accessible("page not loaded");
  });
}

/** Defines tests whose failures affect all users of the service, so they run alone. */
export function alone(world) {
  world.test(
    "an origin that is down is told as not counted, and the next check works once it is back",
    async (reader) => {
      await reader.enter(await world.account());
      await reader.sees(/0 of 100 used/);
      await reader.stack.killOrigin();
      try {
        await checkAddress(reader, "accepts+down@sandbox.test");
        await reader.sees("We couldn’t complete this check, and it wasn’t counted.");
        await reader.accessible("origin down");
      } finally {
        await reader.stack.restartOrigin();
      }
      await reader.press("Check");
      await reader.sees("Deliverable: it can receive mail");
      await reader.sees(/1 of 100 used/);
    },
  );
}

/** Keeps requests for `url` waiting until `release` is called. */
async function hold(page, url) {
  let requests = 0;
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(url, async (route) => {
    requests += 1;
    await released;
    await route.continue();
  });
  return { release, count: () => requests };
}
