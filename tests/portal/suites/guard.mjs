// The sign-up guard: its policy, a field to try it, and the hook for Supabase.
import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceOf } from "./source.mjs";

export function suite(world) {
  world.test("a policy is set and tried, and the hook is replaced", async (reader) => {
    await reader.enter(await world.account(), "/guard");
    const tried = reader.page.getByRole("region", { name: "Try it" });
    await reader.sees("What to refuse");
    await reader.accessible("a policy");
    await reader.fill({ "Email address": "accepts@relay.sandbox.test" });
    await reader.press("Try");
    await tried.getByText("Nothing in your policy refuses it.").waitFor();
    await reader.fill({ "Email address": " " });
    await reader.press("Try");
    await tried.getByText("Enter an address to try.").waitFor();
    assert.equal(await tried.getByText("Allowed").count(), 0, "the decision before is gone");
    await reader.fill({ "Email address": "accepts@relay.sandbox.test" });

    await reader.field("Forwarding services, such as Hide My Email").click();
    await reader.fill({ "Domains to always refuse": "not a domain" });
    await reader.press("Save policy");
    await reader.sees("“not” isn’t a domain. Enter names such as example.org.");
    assert.match(await reader.description("Domains to always refuse"), /“not” isn’t a domain/);
    await reader.fill({ "Domains to always refuse": "x".repeat(300) });
    await reader.press("Save policy");
    await reader.sees(/“x{300}” isn’t a domain/);
    await reader.page.setViewportSize({ width: 360, height: 740 });
    await reader.inBothSchemes("a text that isn't a domain");
    await reader.page.setViewportSize({ width: 1280, height: 900 });
    const many = Array.from({ length: 201 }, (_, n) => `d${n}.example`).join(" ");
    await reader.fill({ "Domains to always allow": many });
    await reader.press("Save policy");
    await reader.sees("Enter at most 200 domains.");
    await reader.fill({ "Domains to always allow": "", "Domains to always refuse": "competitor.example" });
    await reader.press("Save policy");
    await reader.sees("Saved.");
    await reader.press("Try");
    await tried.getByText("Forwarding addresses can't be used here.").waitFor();
    await reader.accessible("a refused address");
    await reader.page.reload();
    assert.equal(await reader.field("Domains to always refuse").inputValue(), "competitor.example");
    assert.equal(await reader.field("Forwarding services, such as Hide My Email").isChecked(), true);
    await reader.page.getByText("1 sign-up, forwarding service").waitFor();

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

  world.test("the form and the service agree about what is a domain", async (reader) => {
    const { token } = await world.account();
    const headers = { Authorization: `Bearer ${token}` };
    const { isDomain } = await sourceOf("words/domains.ts");
    for (const text of [
      "example.org",
      "EXAMPLE.org.",
      "bücher.example",
      "xn--bcher-kva.example",
      "a.b.c.example",
      "192.0.2.example",
      "com",
      "com.",
      ".example.org",
      "example..org",
      "example.org..",
      "-a.example",
      "a_b.example",
      "192.0.2.1",
      "[192.0.2.1]",
      "ann@example.org",
      "https://example.org/",
      "example.org:25",
      "*.example.org",
      "@example.org",
      `${"a".repeat(64)}.example`,
      `${"a.".repeat(126)}example`,
    ]) {
      const body = { block_domains: [text] };
      const { status } = await reader.stack.api("PUT", "/v1/guard", { headers, body });
      assert.equal(isDomain(text), status === 200, text);
    }
  });

  test("each reason of a decision has words", async () => {
    const { refusedKind, whyAllowed } = await sourceOf("words/guard.ts");
    const why = (reason, verdict = "unknown") => whyAllowed({ reason, verdict });
    assert.equal(why("not_in_time"), "It couldn’t be checked in time, so it’s allowed.");
    assert.equal(why("unavailable"), "We couldn’t check it, so it’s allowed.");
    assert.equal(why("greylisted"), "Its mail server didn’t say whether it exists, so it’s allowed.");
    assert.match(why("accepted_catch_all", "risky"), /may not exist/);
    assert.match(why("no_such_mailbox", "undeliverable"), /can’t receive mail/);
    assert.match(why("malformed", "undeliverable"), /isn’t an email address/);
    assert.equal(refusedKind("blocked_domain"), "domain you always refuse");
    assert.equal(refusedKind("new_kind"), "new kind");
  });
}
