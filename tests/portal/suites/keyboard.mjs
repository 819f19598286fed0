// Registration, sign-in and replacing the key without a mouse.
import assert from "node:assert/strict";
import { PASSWORD } from "../world.mjs";

export function suite(world) {
  world.test("by keyboard alone: register, confirm, sign out, sign in, replace the key", async (reader) => {
    const email = world.newEmail();
    const { page, stack } = reader;
    await page.addInitScript(`globalThis.nameOf = ${nameOf}`);
    const type = (text) => page.keyboard.type(text);
    await reader.open("/");
    await tabTo(page, "Skip to the content");
    await page.keyboard.press("Enter");
    await tabTo(page, "Create a free account");
    await page.keyboard.press("Enter");
    await reader.reads("Create your account");
    await tabTo(page, "Email address");
    await type(email);
    await tabTo(page, "Password");
    await type(PASSWORD);
    await page.keyboard.press("Enter");
    await reader.reads("Check your inbox");

    await reader.open((await stack.mail(email)).link);
    await reader.reads("Confirm your email address");
    await tabTo(page, "Password");
    await type(PASSWORD);
    await tabTo(page, "Password again");
    await type(PASSWORD);
    await tabTo(page, "Confirm my address");
    await page.keyboard.press("Space");
    await reader.reads("Overview");
    await tabTo(page, "Sign out");
    await page.keyboard.press("Enter");
    await reader.reads("Sign in");

    await tabTo(page, "Email address");
    await type(email);
    await tabTo(page, "Password");
    await type(PASSWORD);
    await page.keyboard.press("Enter");
    await reader.reads("Overview");
    await tabTo(page, "API key");
    await page.keyboard.press("Enter");
    await reader.reads("API key");
    await tabTo(page, "Show API key");
    await page.keyboard.press("Space");
    const shown = page.locator("[data-part=key]").filter({ hasNotText: "•" });
    const old = await shown.innerText();
    await tabTo(page, "Replace key…");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo(page, "Replace key");
    await page.keyboard.press("Enter");
    await reader.sees("Your API key has been replaced.");
    const reply = await stack.api("GET", "/v1/me/quota", { headers: { "X-API-Key": old } });
    assert.equal(reply.status, 401);
    // The focus is somewhere, from a frame after the dialog has closed.
    await page.waitForFunction(() => document.activeElement.tagName !== "BODY");
  });
}

/** Presses Tab until the element with this name has the focus; asserts that the focus is visible. */
async function tabTo(page, name) {
  // Tab is faster than a page that is still loading.
  await page.waitForFunction(
    (name) => [...document.querySelectorAll("a, button, input")].some((element) => nameOf(element) === name),
    name,
  );
  const seen = [];
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return { name: nameOf(element), outlined: outlineStyle !== "none" && outlineWidth !== "0px" };
    });
    seen.push(focused.name.slice(0, 30));
    if (focused.name === name) {
      assert.ok(focused.outlined, `${name} has the focus, visibly`);
      return;
    }
  }
  assert.fail(`Tab does not reach ${name}: ${seen.join(" | ")}`);
}

/** In the page: the name that a person hears for an element. */
function nameOf(element) {
  const label = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
  return label.trim();
}
