// The sign-up guard: its policy, a field to try it, and the hook for Supabase.
import assert from "node:assert/strict";

export function suite(world) {
  world.test("a policy is set and tried, and the hook is replaced", async (reader) => {
    await reader.enter(await world.account(), "/guard");
    const tried = reader.page.getByRole("region", { name: "Try it" });
    await reader.sees("What to refuse");
    await reader.accessible("a policy");
    await reader.fill({ "Email address": "accepts@relay.sandbox.test" });
    await reader.press("Try");
    await tried.getByText("Allowed").waitFor();

    await reader.field("Forwarding services, such as Hide My Email").click();
    await reader.fill({ "Domains to always refuse": "not a domain" });
    await reader.press("Save policy");
    await reader.sees("must be a domain name");
    await reader.fill({ "Domains to always refuse": "competitor.example" });
    await reader.press("Save policy");
    await reader.sees("Saved.");
    await reader.press("Try");
    await tried.getByText("Forwarding addresses can't be used here.").waitFor();
    await reader.accessible("a refused address");
    await reader.page.reload();
    assert.equal(await reader.field("Domains to always refuse").inputValue(), "competitor.example");
    assert.equal(await reader.field("Forwarding services, such as Hide My Email").isChecked(), true);
    await reader.page.getByText("1 sign-up, relay").waitFor();

    const secret = async () => {
      await reader.press("Show hook secret");
      const text = await reader.page.locator("[data-part=key]").innerText();
      await reader.press("Hide hook secret");
      return text;
    };
    const first = await secret();
    assert.match(first, /^v1,whsec_[A-Za-z0-9+/]{43}=$/);
    await reader.press("Replace URL and secret…");
    await reader.accessible("asked before replacing the hook");
    await reader.press("Replace them");
    await reader.sees("The URL and secret before these work until");
    assert.notEqual(await secret(), first);
    await reader.page.setViewportSize({ width: 360, height: 740 });
    const width = await reader.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 360, `the page is ${width} pixels wide`);
  });
}
