// The API reference: its content is that of the API's description, and its examples run.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { programs } from "../programs.mjs";
import { eventually } from "../stack.mjs";
import { PASSWORD } from "../world.mjs";
import { sourceOf } from "./source.mjs";

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
    await reader.page.locator("#login").getByRole("tabpanel").waitFor();
    await reader.press("All endpoints");
    await reader.page
      .getByRole("navigation", { name: "Operations" })
      .getByRole("link", { name: "Show the sign-up guard" })
      .click();
    const fields = reader.page.locator("#showGuard dl dt code");
    await fields.first().waitFor();
    const shown = await fields.allInnerTexts();
    assert.ok(shown.includes("refusals") && shown.includes("count"), `also what a list holds: ${shown}`);
    await reader.accessible("an endpoint unfolded by its link");
  });

  world.test(
    "an operation shows every parameter and every member, and says which may be absent",
    async (reader) => {
      const { body } = await reader.stack.api("GET", "/v1/openapi.json");
      await reader.open("/docs#scanResults");
      const section = reader.page.locator("#scanResults");
      await section.getByRole("tabpanel").waitFor();
      const shown = await section.locator("dl dt").allInnerTexts();
      const { parameters } = body.paths["/v1/scans/{id}/results"].get;
      const members = [
        ...Object.keys(body.components.schemas.ScanEvidence.properties),
        ...["position", "status", "verdict", "final"],
      ];
      for (const name of [...parameters.map((parameter) => parameter.name), ...members])
        assert.ok(
          shown.some((text) => text.startsWith(`${name} `)),
          `${name}: ${shown.join(", ")}`,
        );
      const row = (name) => shown.find((text) => text.startsWith(`${name} `));
      assert.equal(row("interim"), "interim boolean, optional");
      assert.equal(row("final"), "final boolean");
      assert.match(row("confidence"), /may be absent$/);
      await reader.accessible("an endpoint with parameters");
    },
  );

  world.test(
    "the examples use the reader's own key, masked until asked for, and run as they stand",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/docs");
      const section = reader.page.locator("#validateEmail");
      const example = section.getByRole("tabpanel");
      await example.waitFor();
      for (const [language, execute] of Object.entries(await programs())) {
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
        const { stdout } = await execute(text);
        assert.match(stdout, /status\W+false/i, language);
      }
      assert.ok(!(await reader.page.locator("main").innerText()).includes(account.apiKey));
      const copied = await reader.copies(section.getByRole("button", { name: "Copy: Example" }));
      assert.ok(copied.includes(account.apiKey), "copied with the key");
      await reader.accessible("reference with hidden key");
    },
    { clipboard: true },
  );

  world.test("every example runs in every language", async (reader) => {
    const { stack } = reader;
    const { apiKey, token, email } = await world.account();
    await stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", email);
    const { body: description } = await stack.api("GET", "/v1/openapi.json");
    const { LANGUAGES, write } = await sourceOf("words/examples.ts");
    const { exampleOf, nameOf } = await sourceOf("pages/docs/document.ts");
    const { clientsCall } = await sourceOf("pages/docs/clients-call.ts");
    const newScan = async (body) =>
      (await stack.api("POST", "/v1/scans", { headers: { "X-API-Key": apiKey }, body })).body.id;
    // A scan of two addresses ends by itself. For `putScanPart`, the scan still waits for its addresses.
    const addresses = ["accepts@sandbox.test", "rejects@sandbox.test"];
    const scanOf = async (operation) =>
      operation === "putScanPart" ? newScan({ total: 2 }) : newScan({ addresses });
    const ran = {};
    const runs = await programs();
    for (const [path, methods] of Object.entries(description.paths))
      for (const [method, { operationId: operation, tags, security, requestBody }] of Object.entries(
        methods,
      )) {
        const schemes = security.flatMap(Object.keys);
        const byKey = schemes.includes("ApiKey");
        // Of the operations with a session, only GET is run: some others would end the account or the session.
        if (!byKey && method !== "get") continue;
        const example = {
          operation,
          tag: tags[0],
          method: method.toUpperCase(),
          base: stack.url,
          path,
          credential: byKey
            ? { header: "X-API-Key", value: apiKey }
            : schemes.length > 0
              ? { header: "Authorization", value: `Bearer ${token}` }
              : undefined,
          body: exampleOf(requestBody?.content),
          schema: nameOf(requestBody?.content),
          ...clientsCall(operation),
        };
        for (const language of LANGUAGES) {
          const text = write(language, example);
          if (text === undefined) continue;
          const id = path.includes("{id}") ? await scanOf(operation) : "";
          const { stdout, stderr } = await runs[language](text.replaceAll("SCAN_ID", id));
          const told = `${operation} in ${language}: ${stdout}${stderr}`;
          // The OpenAPI documents contain words that the last check forbids.
          if (/^show(Whole)?Description$/.test(operation))
            assert.match(stdout, /["']?openapi["']?: ?["']3\.1\.0/, told);
          // The response of `deleteScan` has no body.
          else if (operation === "deleteScan") assert.match(stdout, /^(undefined|None)?\s*$/, told);
          else assert.doesNotMatch(stdout, /"detail"|Error|undefined/, told);
          if (operation === "createScan" || operation === "putScanPart")
            assert.match(`${stdout}${stderr}`, /scan_[0-9a-f]{28}/, told);
          (ran[language] ??= new Set()).add(operation);
        }
      }
    const operations = Object.values(description.paths).flatMap((methods) => Object.entries(methods));
    const all = operations.filter(
      ([method, { security }]) => method === "get" || security.some((one) => one.ApiKey),
    );
    assert.equal(ran.rcpt.size, 6);
    for (const language of ["curl", "TypeScript", "Python"])
      assert.equal(ran[language].size, all.length, language);
  });

  world.test(
    "a stranger walks from zero to a verdict",
    async (reader) => {
      const email = world.newEmail();
      await reader.open("/start");
      await reader.reads("From zero to a verdict in five minutes");
      await reader.accessible("the first steps of a stranger");
      await reader.follow("Create a free account");
      await reader.fill({ "Email address": email, Password: PASSWORD });
      await reader.press("Create account");
      const { link } = await reader.stack.mail(email);
      await reader.open(link);
      await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
      await reader.press("Confirm my address");
      await reader.reads("Overview");
      // Navigates within the portal: the key isn't stored, so a reload would lose it.
      await reader.follow("Docs");
      await reader.reads("API reference");
      await reader.follow("From zero to a verdict");
      const example = reader.page.getByRole("tabpanel");
      await example.waitFor();
      for (const [language, execute] of Object.entries(await programs())) {
        await reader.page.getByRole("tab", { name: language }).click();
        assert.match(await example.innerText(), /••••/, "masked");
        const text = await reader.copies(reader.button("Copy: Example"));
        const { stdout } = await execute(text);
        assert.match(stdout, /status\W+true/i, language);
      }
      await reader.accessible("the first steps of a member");
      const { body } = await reader.stack.api("GET", "/v1/openapi.json");
      for (const link of await reader.page.locator("main a[href*='#']").all()) {
        const name = (await link.getAttribute("href")).split("#")[1];
        assert.ok(
          ["reasons", "statuses"].includes(name) || JSON.stringify(body).includes(`"operationId":"${name}"`),
          name,
        );
      }
      const used = await eventually("four checks are counted", async () => {
        const rows = await reader.stack.sql("SELECT daily_charged FROM accounts WHERE email = ?", email);
        return rows[0].daily_charged === 4;
      });
      assert.ok(used);
    },
    { clipboard: true },
  );

  world.test(
    "the quick start comes first, and what it shows is what the service says",
    async (reader) => {
      const account = await world.account();
      await reader.enterBySigningIn(account, "/docs");
      const quickStart = reader.page.getByRole("region", { name: "Quick start" });
      await quickStart.waitFor();
      const headings = await reader.page.locator("main h2").allInnerTexts();
      const sections = headings.slice(headings.lastIndexOf("Quick start"));
      const order = ["Quick start", "Checking", "Guard", "Scans", "Quota", "Basics"];
      assert.deepEqual(sections.slice(0, order.length), order);
      const command = await reader.copies(quickStart.getByRole("button", { name: "Copy: Example" }));
      const { stdout } = await run("sh", ["-c", command]);
      const { email, verdict, status } = JSON.parse(stdout);
      const shown = JSON.parse(await quickStart.locator("figure code").innerText());
      assert.deepEqual(
        { email, verdict, status },
        { email: shown.email, verdict: shown.verdict, status: shown.status },
      );
    },
    { clipboard: true },
  );

  world.test("the example of a check is one that can happen", async (reader) => {
    const { apiKey } = await world.account();
    await reader.open("/docs");
    const example = reader.page.locator("#validateEmail figure code");
    await example.waitFor();
    const shown = JSON.parse(await example.innerText());
    const { body } = await reader.stack.api("POST", "/v1/validate_email", {
      headers: { "X-API-Key": apiKey },
      // The tag avoids a cached result, which would lack the server's text.
      body: { email: shown.email.replace("@", "+example@"), details: true },
    });
    // Leaves out `catch_all`, which is "no" only after another check: a server that has refused one recipient doesn't
    // accept all recipients.
    const told = ({ verdict, status, details: { reason, smtp_code, enhanced_code, smtp_text } }) => ({
      verdict,
      status,
      reason,
      smtp_code,
      enhanced_code,
      smtp_text,
    });
    assert.deepEqual(told(shown), told(body));
    assert.ok(!(await reader.page.locator("main").innerText()).includes("@example.com"));
  });

  world.test("every status and reason is in a table", async (reader) => {
    const { body } = await reader.stack.api("GET", "/v1/openapi.json");
    const words = body.components.schemas.ValidationResult.properties.status.oneOf.flatMap(
      ({ enum: values = [] }) => values,
    );
    await reader.open("/docs");
    const rowsOf = async (name) => {
      const table = reader.page.getByRole("region", { name });
      await table.waitFor();
      return table.locator("tbody th").allInnerTexts();
    };
    assert.deepEqual(
      (await rowsOf("Statuses")).sort(),
      [true, false, ...words].map((status) => JSON.stringify(status)).sort(),
    );
    // Extension that marks lists of values to which a later version may add.
    const OPEN = "x-extensible-enum";
    const { Details, PlainError, LimitError } = body.components.schemas;
    const { reason } = Details.properties;
    assert.deepEqual(await rowsOf("Reasons"), reason[OPEN]);
    const codes = [...PlainError.properties.code[OPEN], ...LimitError.properties.code[OPEN]];
    assert.deepEqual(await rowsOf("Error codes"), [...new Set(codes)]);
    for (const cell of await reader.page.locator("main tbody td").allInnerTexts())
      assert.ok(cell.length > 1, "each has a meaning");
  });

  world.test("on a phone the reference folds", async (reader) => {
    await reader.page.setViewportSize({ width: 360, height: 740 });
    await reader.open("/docs");
    await reader.page.locator("#validateEmail").waitFor();
    const folded = await reader.page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(folded < 9_500, `${folded} px`);
    await reader.page.locator("#validateEmail summary").click();
    await reader.page.locator("#validateEmail").getByRole("tabpanel").waitFor();
    await reader.accessible("an endpoint unfolded on a phone");
  });

  world.test("a language is chosen by arrow keys, for all examples", async (reader) => {
    await reader.open("/docs");
    await reader.page.locator("#login > summary").click();
    await reader.page.locator("#validateEmail").getByRole("tab", { name: "curl" }).focus();
    await reader.page.keyboard.press("ArrowRight");
    await reader.focuses("textContent", "rcpt");
    assert.match(await reader.page.locator("#showQuota").getByRole("tabpanel").innerText(), /rcpt quota/);
    const unknown = reader.page.locator("#login").getByRole("tabpanel");
    assert.match(await unknown.innerText(), /^curl /, "what has no command is shown with curl");
    await reader.page.keyboard.press("ArrowRight");
    await reader.page.keyboard.press("ArrowRight");
    assert.match(await unknown.innerText(), /import urllib/);
  });
}
