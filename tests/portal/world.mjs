// State shared by all suites: one running service, one browser, and their users.
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, launch, openWindow } from "./browser.mjs";
import { eventually, startStack } from "./stack.mjs";

/** Satisfies every password rule. */
export const PASSWORD = "violet-anchor-77-quarry";

export class World {
  #people = 0;
  #clipboard = Promise.resolve();

  async start() {
    this.stack = await startStack();
    this.browser = await launch();
  }

  async stop() {
    await this.browser?.close();
    await this.stack?.stop();
  }

  newEmail() {
    this.#people += 1;
    return `reader${this.#people}@portal-tests.net`;
  }

  /** Creates a confirmed account through the harness. */
  async account(email = this.newEmail()) {
    const { token, api_key: apiKey } = await this.stack.tell("account", { email });
    return { email, apiKey, token };
  }

  /** Creates a confirmed account with two-factor authentication on. */
  async securedAccount(email = this.newEmail()) {
    const made = await this.stack.tell("account", { email, two_factor: true });
    const { token, api_key: apiKey, secret, recovery_codes: recoveryCodes } = made;
    return { email, apiKey, token, authenticator: this.stack.authenticator(secret), recoveryCodes };
  }

  /**
   * Runs one test in its own window, and asserts that no forbidden event has happened. Other tests run in parallel. The
   * windows of a browser share one clipboard, so tests with `clipboard` take turns.
   */
  test(name, run, { clipboard = false, ...options } = {}) {
    test(name, { timeout: 900_000 }, async () => {
      if (clipboard) return this.#withClipboard(() => this.#inWindow(run, options));
      return this.#inWindow(run, options);
    });
  }

  #withClipboard(run) {
    const turn = this.#clipboard.then(run);
    this.#clipboard = turn.catch(() => {});
    return turn;
  }

  async #inWindow(run, options) {
    const { context, page, wrongs, refused } = await openWindow(this.browser, this.stack, options);
    try {
      await run(new Reader(this, page, context));
      assert.deepEqual(wrongs, []);
    } catch (error) {
      // The page's own message precedes the report, which may be cut off.
      const shown = await page
        .locator("main")
        .innerText({ timeout: 1000 })
        .catch(() => "");
      error.message += `\n--- refused: ${refused.join(", ")}\n--- ${page.url()} showed:\n${shown}`;
      throw error;
    } finally {
      await context.close();
    }
  }
}

/** A user with a browser window. */
export class Reader {
  constructor(world, page, context) {
    this.world = world;
    this.stack = world.stack;
    this.page = page;
    this.context = context;
  }

  open(path) {
    return this.page.goto(path);
  }

  field(label) {
    return this.page.getByLabel(label, { exact: true });
  }

  button(name) {
    return this.page.getByRole("button", { name, exact: true });
  }

  async press(name) {
    await this.button(name).click();
  }

  /**
   * Presses a copy button, and returns the text that it copied. The button says "Copied" for only two seconds, so it's
   * observed from before.
   */
  async copies(button) {
    const said = await button.evaluateHandle((button) => {
      const said = {};
      const observer = new MutationObserver(() => (said.first ??= button.innerText));
      observer.observe(button, { subtree: true, childList: true, characterData: true });
      return said;
    });
    await button.click();
    const first = await this.page.waitForFunction((said) => said.first, said);
    assert.equal(await first.jsonValue(), "Copied");
    return this.page.evaluate(() => navigator.clipboard.readText());
  }

  async follow(name) {
    await this.page.getByRole("link", { name, exact: true }).first().click();
  }

  async fill(fields) {
    for (const [label, value] of Object.entries(fields)) await this.field(label).fill(value);
  }

  /** Waits for a page's heading, and for what the page does a frame later: it sets the tab's title and the focus. */
  async reads(title) {
    await this.page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
    await this.page.waitForFunction((title) => document.title === `${title} · rcpt`, title);
  }

  /** Waits until leaving the page asks first, or doesn't any more: from a frame after the page shows why. */
  async asksBeforeLeaving(asks) {
    await this.page.waitForFunction(
      (asks) => asks !== window.dispatchEvent(new Event("beforeunload", { cancelable: true })),
      asks,
    );
  }

  /** Waits until the focused element has this property, such as a `name` or a `textContent`. */
  async focuses(property, value) {
    const has = ([property, value]) => document.activeElement[property] === value;
    await this.page.waitForFunction(has, [property, value]);
  }

  async sees(text) {
    await this.page.getByText(text).first().waitFor();
  }

  accessible(state, rules) {
    return assertAccessible(this.page, state, rules);
  }

  /**
   * Asserts that the page is accessible in light and dark colours, and no wider than the window. In dark colours, only
   * the colour rules are checked again.
   */
  async inBothSchemes(state) {
    await this.page.emulateMedia({ colorScheme: "light" });
    await this.accessible(`${state} light`);
    const widths = () => [document.documentElement.scrollWidth, innerWidth];
    const [content, window] = await this.page.evaluate(widths);
    assert.ok(content <= window, `${state}: ${content} px wide in a window of ${window}`);
    await this.page.emulateMedia({ colorScheme: "dark" });
    await this.accessible(`${state} dark`, ["color-contrast", "link-in-text-block"]);
  }

  async signIn({ email }, path = "/sign-in") {
    await this.open(path);
    await this.reads("Sign in");
    await this.fill({ "Email address": email, Password: PASSWORD });
    await this.press("Sign in");
  }

  /** Restores a session as a reload does (without the API key), opens `path` and waits until it has loaded. */
  async enter({ email, token }, path = "/overview") {
    // Storage belongs to an origin, so any page of this origin can set it.
    const empty = `${this.stack.url}/empty`;
    await this.page.route(empty, (route) => route.fulfill({ contentType: "text/html", body: "" }));
    await this.open(empty);
    await this.page.evaluate((session) => sessionStorage.setItem("rcpt.session", JSON.stringify(session)), {
      token,
      email,
    });
    await this.open(path);
    await this.settles();
  }

  /** Signs in through the form, which starts a new session. */
  async enterBySigningIn(account, path = "/overview") {
    await this.signIn(account, `/sign-in?next=${path}`);
    await this.arrivesAt(path);
    await this.settles();
  }

  /** Waits until the page has loaded. */
  async settles() {
    await this.page.locator("h1").waitFor();
    const bones = this.page.locator(".skeleton");
    await eventually("the page has loaded", async () => (await bones.count()) === 0);
  }

  async arrivesAt(path) {
    await this.page.waitForURL((url) => url.pathname === path);
  }

  /** Returns a field's description for screen readers. */
  async description(label) {
    return this.field(label).evaluate((input) =>
      (input.getAttribute("aria-describedby") ?? "")
        .split(" ")
        .map((id) => document.getElementById(id)?.textContent ?? "")
        .join(" "),
    );
  }
}
