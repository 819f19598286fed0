// Events at the end of a scan: the email, and the webhook with its secret, its test and its deliveries.
import assert from "node:assert/strict";

const HOST = "hooks.example.com";
const URL = `https://${HOST}/rcpt`;

export function suite(world) {
  world.test("a webhook is set, tested, given another secret and removed", async (reader) => {
    await reader.enter(await world.account(), "/settings/notifications");
    const card = reader.page.getByRole("region", { name: "Webhook" });
    const deliveries = card.getByRole("list", { name: "Last deliveries" }).getByRole("listitem");
    await reader.fill({ URL: "hooks.example.com" });
    await reader.press("Save webhook");
    await reader.sees("The URL must begin with https://.");
    await reader.fill({ URL: "https://10.0.0.1/" });
    await reader.press("Save webhook");
    await reader.sees("isn’t on the public internet");
    assert.match(await reader.description("URL"), /public internet/);
    await reader.accessible("a refused webhook");

    // Submits the form by keyboard.
    await reader.fill({ URL });
    await reader.page.keyboard.press("Enter");
    await card.getByText("Saved.").waitFor();
    const secret = async () => {
      await reader.press("Show webhook secret");
      const text = await card.locator("[data-part=key]").innerText();
      await reader.press("Hide webhook secret");
      return text;
    };
    const first = await secret();
    assert.match(first, /^whsec_[A-Za-z0-9+/]{43}=$/);
    await card.getByText("None yet.").waitFor();

    await reader.press("Send a test");
    await reader.sees("Your server took the test.");
    await deliveries.getByText("Delivered, HTTP 204").waitFor();
    await reader.stack.tell("webhook", { host: HOST, status: 500 });
    await reader.press("Send a test");
    await reader.sees("The test failed: HTTP 500.");
    await deliveries.getByText("Failed: HTTP 500, tried once").waitFor();
    assert.equal(await deliveries.count(), 2);
    await reader.accessible("deliveries");

    await reader.press("Replace secret…");
    await reader.accessible("asked before replacing the secret");
    await reader.press("Replace secret");
    await reader.sees("The secret before this one signs too until");
    assert.notEqual(await secret(), first);

    await reader.page.setViewportSize({ width: 360, height: 740 });
    const width = await reader.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `the page is ${width} pixels wide`);
    await reader.accessible("a webhook on a phone");

    await reader.press("Remove webhook…");
    await reader.press("Remove webhook");
    await reader.button("Send a test").waitFor({ state: "detached" });
    assert.equal(await reader.field("URL").inputValue(), "");
  });

  world.test("the emails about scans and about daily checks are turned off and on apart", async (reader) => {
    await reader.enter(await world.account(), "/settings/notifications");
    const scan = reader.field("Email me when a scan has ended");
    const checks = reader.field("Email me when my daily checks run out");
    const click = async (tick) => {
      const saved = reader.page.waitForResponse((reply) => reply.request().method() === "PUT");
      await tick.click();
      await saved;
      await reader.page.reload();
      await tick.waitFor();
      return [await scan.isChecked(), await checks.isChecked()];
    };
    await scan.waitFor();
    assert.deepEqual([await scan.isChecked(), await checks.isChecked()], [true, true]);
    assert.deepEqual(await click(checks), [true, false]);
    assert.deepEqual(await click(scan), [false, false]);
    assert.deepEqual(await click(checks), [false, true]);
    await reader.accessible("the settings of emails");
  });
}
