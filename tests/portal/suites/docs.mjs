// The API reference.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export function suite(world) {
  world.test("the reference has every operation of the API's own description", async (reader) => {
    const { body } = await reader.stack.api("GET", "/v1/openapi.json");
    const operations = Object.values(body.paths).flatMap((methods) => Object.values(methods));
    await reader.open("/docs");
    await reader.page.locator("[data-part=endpoint]").first().waitFor();
    assert.equal(await reader.page.locator("[data-part=endpoint]").count(), operations.length);
    for (const { operationId } of operations)
      assert.equal(await reader.page.locator(`#${operationId}`).count(), 1, operationId);
    await reader.page
      .getByRole("navigation", { name: "Operations" })
      .getByRole("link", { name: "Check an address" })
      .click();
    assert.ok(reader.page.url().endsWith("/docs#validateEmail"));
    await reader.page.setViewportSize({ width: 360, height: 740 });
    await reader.press("All endpoints");
    await reader.accessible("operations opened on a phone");
    await reader.page
      .getByRole("navigation", { name: "Operations" })
      .getByRole("link", { name: "Sign in" })
      .click();
    assert.ok(reader.page.url().endsWith("/docs#login"));
  });

  world.test(
    "the examples use the reader's own key, masked until asked for, and run as they stand",
    async (reader) => {
      const account = await world.account();
      await reader.enter(account, "/docs");
      const section = reader.page.locator("#validateEmail");
      const example = section.getByRole("tabpanel");
      await example.waitFor();
      const programs = {
        curl: (text) => run("sh", ["-c", text]),
        Python: (text) => run("python3", ["-c", text]),
        JavaScript: (text) => run("node", ["--input-type=module", "-e", text]),
      };
      for (const [language, execute] of Object.entries(programs)) {
        await section.getByRole("tab", { name: language }).click();
        const shown = await example.innerText();
        assert.ok(
          !shown.includes(account.apiKey) && shown.includes("••••"),
          `${language}: masked until asked for`,
        );
        await reader.page.getByLabel("Show my API key in the examples").check();
        const text = await example.innerText();
        assert.ok(text.includes(account.apiKey), language);
        await reader.page.getByLabel("Show my API key in the examples").uncheck();
        const { stdout } = await execute(text.replace("ann@example.com", "accepts@sandbox.test"));
        assert.match(stdout, /"status":\s*true/, language);
      }
      assert.ok(!(await reader.page.locator("main").innerText()).includes(account.apiKey));
      await section.getByRole("button", { name: "Copy: Example" }).click();
      assert.ok(
        (await reader.page.evaluate(() => navigator.clipboard.readText())).includes(account.apiKey),
        "copied with the key",
      );
      await reader.accessible("reference with hidden key");
    },
  );

  world.test("a language is chosen by arrow keys, for all examples", async (reader) => {
    await reader.open("/docs");
    await reader.page.locator("#validateEmail").getByRole("tab", { name: "curl" }).focus();
    await reader.page.keyboard.press("ArrowRight");
    assert.equal(await reader.page.evaluate(() => document.activeElement.textContent), "Python");
    assert.match(await reader.page.locator("#quota").getByRole("tabpanel").innerText(), /import urllib/);
  });
}
