// Scans: upload of a list, its verdicts, stopping and deleting.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { eventually } from "../stack.mjs";
import { sourceOf } from "./source.mjs";

const KINDS = ["accepts", "rejects"];

/**
 * Returns a customer's file with a header and the addresses in the second column, of which one is malformed and one
 * repeated.
 */
function csv(rows) {
  const lines = Array.from({ length: rows }, (_, n) => `"Person, ${n}",${KINDS[n % 2]}+${n}@sandbox.test,x`);
  lines[2] = 'Nobody,"not an address",x';
  lines[4] = lines[0];
  return ["Name,Email,Note", ...lines, ""].join("\r\n");
}

/** The columns of a copy, as the command's are. */
const OURS = "rcpt_verdict,rcpt_reason,rcpt_suggestion,rcpt_disposable,rcpt_role,rcpt_free,rcpt_final";

const file = (content, name = "customers.csv") => ({
  name,
  mimeType: "text/csv",
  buffer: Buffer.from(content),
});

/** Starts measuring the page's longest task; returns a function that returns the task's milliseconds. */
async function watchTasks(page) {
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ entryTypes: ["longtask"] });
  });
  return () => page.evaluate(() => window.longest);
}

const results = (reader) => reader.page.getByRole("table", { name: "Results by row" });
const chooses = (reader, list) => reader.field("CSV, Excel or text file").setInputFiles(list);

/** Returns the numbers of addresses to check, of repeats, of texts that are none, and of empty cells. */
const figures = (reader) => reader.page.locator("dl dd").allInnerTexts();

async function scans(reader, list, button) {
  await chooses(reader, list);
  await reader.press(button);
  await reader.page.getByText("Completed", { exact: true }).waitFor({ timeout: 240_000 });
  await results(reader).waitFor();
}

async function downloads(reader, button) {
  const [download] = await Promise.all([reader.page.waitForEvent("download"), reader.press(button)]);
  return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** The button that tells a verdict's share, and shows only its rows. */
const share = (reader, verdict) =>
  reader.page
    .getByRole("group", { name: "Show only" })
    .getByRole("button", { name: new RegExp(`^${verdict} `, "i") });
const shows = (reader, verdict) => share(reader, verdict).click();

export function suite(world) {
  world.test(
    "a file of ten rows is read here, scanned, shown by row, and comes back as a file",
    async (reader) => {
      const account = await world.account();
      await reader.enter(account, "/scans");
      await reader.accessible("no scans yet");
      await chooses(reader, file(csv(10)));
      await reader.button("Scan 8 addresses").waitFor();
      await reader.sees("10 rows read from customers.csv.");
      const column = reader.page.getByLabel("Column with the addresses");
      assert.equal(await column.inputValue(), "1", "found by itself");
      await reader.sees("accepts+0@sandbox.test");
      assert.deepEqual(await figures(reader), ["8", "1", "1", "0"]);
      await column.selectOption("0");
      await reader.sees("There’s no email address in this column.");
      assert.equal(await reader.page.getByRole("button", { name: /^Scan / }).count(), 0, "nothing to scan");
      await column.selectOption("1");
      await reader.button("Scan 8 addresses").waitFor();
      await reader.page.getByText("1 row can’t be read as an address").click();
      await reader.sees("Row 4: There is");
      await reader.accessible("a list that was read");
      await reader.press("Scan 8 addresses");
      await reader.reads("customers.csv");
      await reader.page.getByText("Completed", { exact: true }).waitFor({ timeout: 240_000 });
      await reader.sees("8 of 8 addresses are done.");

      await reader.page.getByRole("button", { name: "Deliverable 3 38% Send." }).waitFor();
      await reader.page.getByRole("button", { name: /^Undeliverable 5 63% Don’t send/ }).waitFor();
      assert.ok(await share(reader, "risky").isDisabled(), "there is none to show");
      await reader.sees("1 row can’t be read as an address. 1 repeat has the same verdict.");
      await reader.page.getByText("Reasons", { exact: true }).click();
      await reader.page.getByRole("table", { name: "Addresses by reason" }).waitFor();
      // What a person came for stands in the first 200 px of the page.
      for (const [what, locator] of [
        ["a share", share(reader, "deliverable")],
        ["the download", reader.button("Download all")],
      ]) {
        const [main, box] = [await reader.page.locator("h1").boundingBox(), await locator.boundingBox()];
        assert.ok(box.y - main.y < 200, `${what} is ${box.y - main.y} px below the name`);
      }
      await reader.accessible("a finished scan");
      const row = results(reader).getByRole("row");
      await row
        .and(reader.page.getByRole("row", { name: /^2 accepts\+0@sandbox\.test Deliverable/ }))
        .waitFor();
      await shows(reader, "undeliverable");
      assert.equal(await row.count(), 6, "a heading, and five that are undeliverable");
      await reader.accessible("one verdict's rows");
      const some = await downloads(reader, "Download undeliverable");
      assert.equal(some.name, "customers.undeliverable.csv");
      assert.equal(some.bytes.toString().trim().split("\r\n").length, 6);
      assert.ok(!some.bytes.includes("accepts+"));
      await shows(reader, "undeliverable");
      const { name, bytes } = await downloads(reader, "Download all");
      assert.equal(name, "customers.verdicts.csv");
      const lines = bytes.toString().split("\r\n");
      assert.equal(lines[0], `Name,Email,Note,${OURS}`);
      assert.equal(lines.length, 12);
      assert.equal(
        lines[2],
        '"Person, 1",rejects+1@sandbox.test,x,undeliverable,no_such_mailbox,,false,false,false,true',
      );
      assert.match(lines[3], /^Nobody,"not an address",x,not_an_address,There is [^,]+\.,,,,,$/);
      assert.match(lines[5], /^"Person, 0",accepts\+0@sandbox\.test,x,deliverable,accepted,/);

      await reader.press("Delete the scan…");
      await reader.accessible("asked before deleting");
      await reader.press("Delete for good");
      await reader.reads("Scans");
      await reader.sees("None yet.");
      await reader.sees("You’ve used all your scans for today.");
      assert.equal(await reader.page.locator("input[type=file]").count(), 0, "nothing to choose for nothing");
      await reader.accessible("no scans left");
      assert.equal(await reader.page.evaluate(() => localStorage.length), 0, "its fingerprint is gone too");
    },
  );

  world.test(
    "a list that is chosen again finds its verdicts row by row, also sorted, cut and enlarged",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const addresses = Array.from({ length: 12 }, (_, n) => `${KINDS[n % 2]}+${n}@sandbox.test`);
      const table = (rows) =>
        ["Id,Email,Other", ...rows.map((row, n) => `${n},${row},o${n}@sandbox.test`)].join("\n");
      await scans(reader, file(table(addresses)), "Scan 12 addresses");
      const row = (name) => results(reader).getByRole("row", { name });
      await row(/^2 accepts\+0@sandbox\.test Deliverable/).waitFor();
      await reader.page.reload();
      await reader.sees("We don’t keep your addresses.");
      await chooses(reader, file("Email\nnobody@sandbox.test\nnone@sandbox.test\n"));
      await reader.sees("This isn’t the list that was scanned.");
      await reader.sees("None of its addresses was in this scan");
      await reader.sees("with 12 addresses in the column “Email”, in any order");
      assert.equal(await results(reader).getByText("@sandbox.test").count(), 0);
      await reader.accessible("another list than the one that was scanned");
      // Nobody knows the file's rows, so these are the positions, as on the page.
      const { bytes } = await downloads(reader, "Download all");
      const lines = bytes.toString().split("\r\n");
      assert.equal(lines[0], `position,${OURS}`);
      assert.match(lines[1], /^1,deliverable,/);
      assert.match(lines[12], /^12,undeliverable,/);

      // Sorted backwards, without four rows, and with one that wasn't there.
      const changed = [...addresses.slice(0, 8).reverse(), "accepts+99@sandbox.test"];
      await chooses(reader, file(table(changed)));
      await row(/^9 accepts\+0@sandbox\.test Deliverable/).waitFor();
      await row(/^2 rejects\+7@sandbox\.test Undeliverable/).waitFor();
      await row(/^– not in this file Undeliverable/)
        .first()
        .waitFor();
      await reader.sees("1 row of this file wasn’t in the scan and has no verdict.");
      const copy = (await downloads(reader, "Download all")).bytes.toString().trim().split("\n");
      for (const [n, address] of changed.entries()) {
        const verdict = address.includes("+99") ? "" : /^acc/.test(address) ? "deliverable" : "undeliverable";
        assert.equal(copy[n + 1].split(",")[3], verdict, copy[n + 1]);
      }

      // Ten times as long, with the scan's rows among strangers'.
      const tenfold = Array.from({ length: 120 }, (_, n) =>
        n % 10 === 3 ? addresses[11 - (n - 3) / 10] : `new+${n}@sandbox.test`,
      );
      await reader.page.reload();
      await chooses(reader, file(table(tenfold), "ten-times.csv"));
      await row(/^115 accepts\+0@sandbox\.test Deliverable/).waitFor();
      await row(/^5 rejects\+11@sandbox\.test Undeliverable/).waitFor();
      await reader.sees("108 rows of this file weren’t in the scan and have no verdict.");
      const long = (await downloads(reader, "Download all")).bytes.toString().trim().split("\n");
      for (const [n, address] of tenfold.entries()) {
        const verdict = { acc: "deliverable", rej: "undeliverable", new: "" }[address.slice(0, 3)];
        assert.equal(long[n + 1].split(",")[3], verdict, long[n + 1]);
      }

      // A file with the addresses in another column also matches.
      const elsewhere = ["Other,Mail", ...addresses.map((row, n) => `o${n}@sandbox.test,${row}`)].join("\n");
      await reader.page.reload();
      await chooses(reader, file(elsewhere, "renamed.csv"));
      await row(/^2 accepts\+0@sandbox\.test Deliverable/).waitFor();

      // The browser stores data of the scan, but no address.
      const kept = () =>
        reader.page.evaluate(
          () =>
            new Promise((resolve) => {
              const opening = indexedDB.open("rcpt");
              opening.onsuccess = () => {
                const database = opening.result;
                const names = [...database.objectStoreNames];
                const done = (rows) => {
                  database.close();
                  resolve(rows.map((row) => ({ ...row, tags: row.tags.length })));
                };
                if (names.length === 0) return done([]);
                const all = database.transaction("scans").objectStore("scans").getAll();
                all.onsuccess = () => done(all.result);
              };
            }),
        );
      const [{ file: name, tags, ...rest }, ...others] = await kept();
      assert.deepEqual([name, tags, others.length], ["customers.csv", 12 * 8, 0]);
      assert.doesNotMatch(JSON.stringify(rest), /sandbox\.test/);

      // The results are also found in another tab of this browser.
      const second = await reader.context.newPage();
      await second.goto(reader.page.url());
      await second.getByLabel("CSV, Excel or text file").setInputFiles(file(table(addresses)));
      await second.getByRole("row", { name: /^2 accepts\+0@sandbox\.test Deliverable/ }).waitFor();
      await second.close();
      await reader.press("Sign out");
      await eventually("nothing is kept after sign-out", async () => (await kept()).length === 0);
    },
  );

  world.test("two scans of one list in one browser each keep their own verdicts", async (reader) => {
    const account = await world.account();
    await reader.stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", account.email);
    await reader.enter(account, "/scans");
    const addresses = ["accepts+1@sandbox.test", "rejects+1@sandbox.test"];
    await scans(reader, file(addresses.join("\n")), "Scan 2 addresses");
    const first = reader.page.url();
    await reader.enter(account, "/scans");
    const longer = [...addresses, "accepts+2@sandbox.test"];
    await scans(reader, file(longer.join("\n")), "Scan 3 addresses");
    const second = reader.page.url();
    assert.notEqual(first, second);
    const row = (name) => results(reader).getByRole("row", { name });
    for (const url of [first, second]) {
      await reader.page.goto(url);
      await chooses(reader, file([...longer].reverse().join("\n")));
      await row(/^3 accepts\+1@sandbox\.test Deliverable/).waitFor();
      await row(/^2 rejects\+1@sandbox\.test Undeliverable/).waitFor();
      if (url === second) await row(/^1 accepts\+2@sandbox\.test Deliverable/).waitFor();
      else await reader.sees("1 row of this file wasn’t in the scan and has no verdict.");
    }
  });

  world.test(
    "in a browser that kept nothing, the service says whether a list is the one that was scanned",
    async (reader) => {
      const account = await world.account();
      await reader.enter(account, "/scans");
      const addresses = Array.from({ length: 4 }, (_, n) => `${KINDS[n % 2]}+${n}@sandbox.test`);
      await scans(reader, file(addresses.join("\n")), "Scan 4 addresses");
      // Keeps this in place of what the browser keeps; returns how many scans it kept before.
      const keeps = (kept) =>
        reader.page.evaluate(
          (kept) =>
            new Promise((resolve) => {
              const opening = indexedDB.open("rcpt");
              opening.onsuccess = () => {
                const store = opening.result.transaction("scans", "readwrite").objectStore("scans");
                const count = store.count();
                store.clear();
                const scan = new URLSearchParams(location.search).get("id");
                store.put({
                  scan,
                  file: "x",
                  column: null,
                  caseMatters: false,
                  tags: new Uint8Array(32),
                  ...kept,
                });
                store.transaction.oncomplete = () => {
                  opening.result.close();
                  resolve(count.result);
                };
              };
            }),
          kept,
        );
      // Nine days have passed; or another account's session ended without a sign-out.
      for (const kept of [
        { owner: account.email, until: Date.now() - 1 },
        { owner: "other@example.org", until: Date.now() + 60_000 },
      ]) {
        await keeps(kept);
        await reader.page.reload();
        await chooses(reader, file([...addresses].reverse().join("\n")));
        await reader.sees("Its addresses differ or are in another order");
      }
      assert.equal(await keeps({}), 0, "it is gone");
      await reader.page.reload();
      assert.equal(await results(reader).getByText("@sandbox.test").count(), 0);
      await chooses(reader, file(addresses.join("\n")));
      await results(reader)
        .getByRole("row", { name: /^1 accepts\+0@sandbox\.test Deliverable/ })
        .waitFor();
    },
  );

  world.test(
    "the file comes back as it came: delimiter, byte order mark, line ends, and letters beyond ASCII",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const rows = ["Ort;E-Mail", "Köln;accepts+1@sandbox.test", '"a;b";rejects+1@sandbox.test', "Bonn;"];
      await scans(reader, file(`\ufeff${rows.join("\n")}\n`, "Kunden.csv"), "Scan 2 addresses");
      const { name, bytes } = await downloads(reader, "Download all");
      assert.equal(name, "Kunden.verdicts.csv");
      assert.deepEqual([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf]);
      const lines = bytes.toString().slice(1).split("\n");
      assert.equal(lines[0], `Ort;E-Mail;${OURS.replaceAll(",", ";")}`);
      assert.match(lines[1], /^Köln;accepts\+1@sandbox\.test;deliverable;accepted;/);
      assert.match(lines[2], /^"a;b";rejects\+1@sandbox\.test;undeliverable;/);
      assert.equal(lines[3], "Bonn;;;;;;;;");
      assert.ok(!bytes.includes("\r"));
    },
  );

  world.test(
    "repeated addresses are checked once unless each check is wanted, and each row has its verdict",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const rows = ["accepts+1@sandbox.test", "rejects+1@sandbox.test", "ACCEPTS+1@Sandbox.TEST", "x"];
      await chooses(reader, file([...rows, ...rows].join("\n")));
      await reader.button("Scan 2 addresses").waitFor();
      assert.deepEqual(await figures(reader), ["2", "4", "2", "0"]);
      await reader.page.getByLabel("Check repeated addresses once (4 repeats)").uncheck();
      await reader.button("Scan 6 addresses").waitFor();
      await reader.page.getByLabel("Check repeated addresses once (4 repeats)").check();
      await reader.button("Scan 2 addresses").waitFor();
      await reader.page.getByLabel("are different people").check();
      await reader.button("Scan 3 addresses").waitFor();
      await reader.page.getByLabel("are different people").uncheck();
      await reader.button("Scan 2 addresses").waitFor();
      await reader.accessible("repeated rows");
      await reader.press("Scan 2 addresses");
      await reader.sees("2 of 2 addresses are done.");
      const verdicts = async () => {
        const { bytes } = await downloads(reader, "Download all");
        const lines = bytes.toString().trim().split("\n");
        return lines.map((line) => line.split(",").slice(0, 2).join(" "));
      };
      const word = (row) =>
        row === "x" ? "not_an_address" : /^acc/i.test(row) ? "deliverable" : "undeliverable";
      const once = rows.map((row) => `${row} ${word(row)}`);
      assert.deepEqual(await verdicts(), [...once, ...once]);
      await reader.page.reload();
      await chooses(reader, file([...rows, ...rows].join("\n")));
      await results(reader)
        .getByRole("row", { name: /^1 accepts\+1@sandbox\.test Deliverable/ })
        .waitFor();
      assert.deepEqual(await verdicts(), [...once, ...once]);
    },
  );

  world.test(
    "a dirty file loses nobody: letters, quotes and several addresses in a cell; and the way of reading can be changed",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const bytes = Buffer.concat([
        Buffer.from("Name;E-Mail\r\n"),
        Buffer.from([0xcc, 0xe0, 0xf0, 0xe8, 0xff]),
        Buffer.from(";accepts+maria@sandbox.test\r\n"),
        Buffer.from('"Bob" Jones;rejects+bob@sandbox.test\r\n'),
        Buffer.from('"Eve;disposable@sandbox.test\n'),
        Buffer.from("Fay;accepts+fay@sandbox.test, rejects+fay@sandbox.test\n\n"),
        Buffer.from([0xcf, 0xb8, 0xf2, 0xf0, 0x3b]),
        Buffer.from("mailto:ann@sandbox.test\n"),
      ]);
      await chooses(reader, { name: "dirty.csv", mimeType: "text/csv", buffer: bytes });
      await reader.button("Scan 5 addresses").waitFor();
      assert.deepEqual(await figures(reader), ["5", "0", "1", "0", "1"]);
      await reader.sees("5 rows read from dirty.csv.");
      await reader.sees("Lines 3, 4: a quotation mark is out of place");
      await reader.sees("One line is empty.");
      await reader.page.getByText("1 row can’t be read as an address").click();
      await reader.sees("Did you mean ann@sandbox.test?");
      await reader.page.getByText("Read the file in another way").click();
      await reader.accessible("a dirty list that was read");
      const focused = await reader.page.evaluate(() => document.activeElement.tagName);
      assert.notEqual(focused, "BODY");
      await reader.page.getByLabel("Encoding").selectOption("windows-1251");
      await reader.sees("Мария, Пётр");
      await reader.page.getByLabel("Delimiter").selectOption("Comma");
      await reader.button("Scan one address").waitFor();
      await reader.page.getByLabel("Delimiter").selectOption("Semicolon");
      await reader.press("Scan 5 addresses");
      await reader.page.getByText("Completed", { exact: true }).waitFor({ timeout: 240_000 });
      const { bytes: copy } = await downloads(reader, "Download all");
      const lines = copy.toString("latin1").split(/\r?\n/);
      assert.match(lines[1], /^\xcc\xe0\xf0\xe8\xff;accepts\+maria@sandbox\.test;deliverable;accepted;/);
      assert.match(lines[2], /^"""Bob"" Jones";rejects\+bob@sandbox\.test;undeliverable;/);
      assert.match(lines[3], /^"""Eve";disposable@sandbox\.test;deliverable;accepted;;true;/);
      assert.match(
        lines[4],
        /;undeliverable;"accepts\+fay@sandbox\.test deliverable: accepted; rejects\+fay@sandbox\.test undeliverable: no_such_mailbox";/,
      );
      assert.equal(lines[5], "");
      assert.match(lines[6], /;not_an_address;/);
      await reader.page.getByLabel("Without throw-away addresses").check();
      await shows(reader, "deliverable");
      const { bytes: some } = await downloads(reader, "Download deliverable");
      assert.ok(some.includes("maria") && !some.includes("disposable@"), some.toString("latin1"));
      await reader.page.getByLabel("A row for each address of a cell").check();
      const { bytes: split } = await downloads(reader, "Download deliverable");
      assert.match(split.toString("latin1"), /^Fay;accepts\+fay@sandbox\.test;deliverable;accepted;/m);
      assert.ok(!split.includes("rejects+fay"), "its other address isn't deliverable");
    },
  );

  world.test(
    "no page may compile wasm: the worker that reads lists may, and nothing else",
    async (reader) => {
      const loaded = [];
      reader.page.on("response", (response) => loaded.push(response));
      await reader.enter(await world.account(), "/scans");
      const wasm = () => loaded.filter((response) => response.url().endsWith(".wasm"));
      assert.equal(wasm().length, 0, "nothing is loaded before a list is chosen");
      await chooses(reader, file("accepts+1@sandbox.test\n"));
      await reader.button("Scan one address").waitFor();
      const policyOf = async (url) => (await fetch(url)).headers.get("content-security-policy");
      const worker = loaded.find((response) => /\/assets\/lists-\w+\.js$/.test(response.url()));
      assert.match(
        await policyOf(worker.url()),
        /^default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'$/,
      );
      for (const path of ["/", "/scans", "/settings"])
        assert.doesNotMatch(await policyOf(`${reader.stack.url}${path}`), /wasm|unsafe/, path);
      const refusal = await reader.page.evaluate(() =>
        WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(
          () => "compiled",
          (error) => error.name,
        ),
      );
      assert.equal(refusal, "CompileError");
    },
  );

  world.test("stopping asks first, and what is known stays", async (reader) => {
    const account = await world.account();
    await reader.enter(account, "/scans");
    await chooses(reader, file("accepts+1@sandbox.test\ngreylisted+1@sandbox.test\n"));
    await reader.press("Scan 2 addresses");
    await reader.sees("1 of 2 addresses are done. 1 will be asked again");
    await results(reader)
      .getByRole("row", { name: /accepts\+1@sandbox\.test Deliverable/ })
      .waitFor();
    await reader.accessible("a scan that waits");
    const state = async () =>
      (
        await reader.stack.sql(
          "SELECT s.state FROM scans s JOIN accounts a ON a.id = s.account_id WHERE a.email = ?",
          account.email,
        )
      )[0].state;
    await reader.press("Stop the scan…");
    await reader.sees("A stopped scan can’t be continued");
    await reader.accessible("asked before stopping");
    await reader.press("Keep it running");
    assert.equal(await state(), "running");
    await reader.press("Stop the scan…");
    await reader.press("Stop the scan");
    await reader.page.getByText("Stopped", { exact: true }).waitFor();
    assert.equal(await state(), "cancelled");
    await results(reader)
      .getByRole("row", { name: /accepts\+1@sandbox\.test Deliverable/ })
      .waitFor();
  });

  world.test("results of many pages are followed while the scan runs", async (reader) => {
    const { apiKey, ...account } = await world.account();
    await reader.stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", account.email);
    const headers = { "X-API-Key": apiKey };
    const { body: scan } = await reader.stack.api("POST", "/v1/scans", { headers, body: { total: 6_000 } });
    const send = async (part) => {
      // These addresses need no mail server, and get their verdicts immediately.
      const body = { addresses: Array.from({ length: 1_000 }, (_, n) => `no address ${part} ${n}`) };
      const { status } = await reader.stack.api("PUT", `/v1/scans/${scan.id}/parts/${part}`, {
        headers,
        body,
      });
      assert.equal(status, 200);
    };
    const row = (count) => reader.page.getByRole("button", { name: new RegExp(`^Undeliverable ${count} `) });
    await send(0);
    await reader.enter(account, `/scans?id=${scan.id}`);
    await row("1,000").waitFor();
    await send(3);
    await row("2,000").waitFor();
  });

  world.test("older scans are shown on request, until there are no more", async (reader) => {
    const { apiKey, ...account } = await world.account();
    await reader.stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", account.email);
    const headers = { "X-API-Key": apiKey };
    for (let n = 1; n <= 45; n += 1) {
      const body = { name: `List ${n}.`, addresses: ["no address"] };
      const { status } = await reader.stack.api("POST", "/v1/scans", { headers, body });
      assert.equal(status, 201);
    }
    const listed = reader.page.getByRole("region", { name: "Your scans" }).getByRole("listitem");
    await reader.enter(account, "/scans");
    assert.equal(await listed.count(), 20);
    await reader.inBothSchemes("more scans than fit");
    await reader.page.route("**/v1/scans?*", (route) => route.abort("connectionrefused"));
    await reader.press("Show older scans");
    await reader.sees("We couldn’t reach the service.");
    assert.equal(await listed.count(), 20);
    await reader.page.unroute("**/v1/scans?*");
    await reader.press("Show older scans");
    await listed.getByText("List 25.").waitFor();
    assert.equal(await listed.count(), 40);
    await reader.focuses("textContent", "List 25.");
    await reader.press("Show older scans");
    await listed.getByText("List 1.").waitFor();
    assert.equal(await listed.count(), 45);
    await reader.focuses("textContent", "List 5.");
    assert.equal(await reader.page.getByRole("button", { name: "Show older scans" }).count(), 0);
  });

  world.test("sending goes on by itself after a lost connection, in the same scan", async (reader) => {
    await reader.enter(await world.account(), "/scans");
    await reader.page.route("**/parts/*", (route) => route.abort("connectionrefused"));
    await chooses(reader, file(csv(10)));
    await reader.press("Scan 8 addresses");
    await reader.sees("0 of 8 sent. Keep this tab open until all are. We’re trying again by ourselves.");
    await reader.accessible("sending that pauses");
    await reader.page.unroute("**/parts/*");
    await reader.sees("8 of 8 addresses are done.");
  });

  world.test(
    "a list whose sending was interrupted goes on with the same file, also sorted",
    async (reader) => {
      const { apiKey, ...account } = await world.account();
      await reader.stack.sql("UPDATE accounts SET plan = 'unlimited' WHERE email = ?", account.email);
      const scanOf = async () =>
        (await reader.stack.api("GET", "/v1/scans", { headers: { "X-API-Key": apiKey } })).body.scans[0];
      const lines = Array.from({ length: 1_500 }, (_, n) => `rejects+${n}@sandbox.test`);
      const list = (rows) => file(["Email", ...rows, ""].join("\n"), "long.csv");
      await reader.enter(account, "/scans");
      await reader.page.route("**/parts/1", (route) => route.abort("connectionrefused"));
      await chooses(reader, list(lines));
      await reader.press("Scan 1,500 addresses");
      await reader.sees("1,000 of 1,500 sent.");
      reader.page.once("dialog", (dialog) => void dialog.accept());
      await reader.page.reload();
      await reader.page.unroute("**/parts/1");
      await reader.sees("Choose the same file again. What has been sent stays");
      await chooses(reader, list(lines.slice(0, 1_200)));
      await reader.sees("Some of its addresses haven’t been sent and aren’t in this file.");
      assert.equal((await scanOf()).received, 1_000);
      await reader.accessible("a list that lacks addresses");
      await chooses(reader, list([...lines].reverse()));
      await eventually("all is sent", async () => (await scanOf()).received === 1_500);
      await results(reader)
        .getByRole("row", { name: /^1501 rejects\+0@sandbox\.test Undeliverable/ })
        .waitFor();
      assert.equal(
        (await reader.stack.api("GET", "/v1/scans", { headers: { "X-API-Key": apiKey } })).body.scans.length,
        1,
      );
    },
  );

  world.test(
    "the unknown alone are scanned again, from the rows that are at hand; what was prepared waits",
    async (reader) => {
      const { apiKey, ...account } = await world.account();
      await reader.stack.sql("UPDATE accounts SET scan_credits = 5 WHERE email = ?", account.email);
      await reader.enter(account, "/scans");
      const rows = [
        "Name;E-Mail",
        "Ann;accepts+1@sandbox.test",
        "Bob;blocked+1@sandbox.test",
        "Cid;x@snadbox.test",
      ];
      await scans(reader, file(`${rows.join("\n")}\n`, "kunden.csv"), "Scan 3 addresses");
      await reader.sees("Did you mean x@sandbox.test?");
      await reader.press("Scan the 1 unknown again…");
      await reader.reads("Scans");
      await reader.sees("1 row read from kunden.unknown.csv.");
      await reader.sees("blocked+1@sandbox.test");
      await reader.follow("Overview");
      await reader.reads("Overview");
      // Somebody who only scans lists sees them here, and no code.
      await reader.page
        .getByRole("region", { name: "Your lists" })
        .getByRole("link", { name: "kunden.csv" })
        .waitFor();
      assert.equal(await reader.page.getByText("Use it in your code").count(), 0);
      await reader.inBothSchemes("an overview of lists");
      await reader.follow("Scans");
      await reader.press("Scan one address");
      await reader.reads("kunden.unknown.csv");
      await reader.sees("1 of 1 addresses are done.");
      const { bytes } = await downloads(reader, "Download all");
      const lines = bytes.toString().trim().split("\n");
      assert.equal(lines[0], `Name;E-Mail;${OURS.replaceAll(",", ";")}`, "our columns are there once");
      assert.match(lines[1], /^Bob;blocked\+1@sandbox\.test;unknown;blocked;/);
      assert.equal(lines.length, 2);
      const { body } = await reader.stack.api("GET", "/v1/scans", { headers: { "X-API-Key": apiKey } });
      assert.deepEqual(
        body.scans.map(({ total }) => total),
        [1, 3],
      );
    },
  );

  world.test(
    "closing the tab while a list is sent asks first, and another page stays where it is",
    async (reader) => {
      const { apiKey, ...account } = await world.account();
      await reader.enter(account, "/scans");
      let release;
      const released = new Promise((resolve) => (release = resolve));
      await reader.page.route("**/parts/*", (route) => released.then(() => route.continue()));
      await chooses(reader, file(csv(10)));
      await reader.press("Scan 8 addresses");
      await reader.sees("0 of 8 sent.");
      await reader.asksBeforeLeaving(true);
      const [dialog] = await Promise.all([
        reader.page.waitForEvent("dialog"),
        reader.page.close({ runBeforeUnload: true }),
      ]);
      assert.equal(dialog.type(), "beforeunload");
      await dialog.dismiss();
      await reader.page.getByRole("link", { name: "Settings" }).first().click();
      await reader.reads("Settings");
      release();
      await eventually("the list is sent", async () => {
        const { body } = await reader.stack.api("GET", "/v1/scans", { headers: { "X-API-Key": apiKey } });
        return body.scans[0]?.received === 8;
      });
      await reader.page.waitForFunction(() => document.querySelector("h1").textContent === "Settings");
      assert.match(reader.page.url(), /\/settings$/);
    },
  );

  world.test("what is pasted is read as email programs and spreadsheets copy it", async (reader) => {
    await reader.enter(await world.account(), "/scans");
    const paste = reader.field("Or paste addresses");
    for (const [text, expected] of [
      ["rejects@sandbox.test, full@sandbox.test", ["2", "0", "0", "0"]],
      ['"Doe, J" <a@sandbox.test>;b@sandbox.test\nc@sandbox.test', ["3", "0", "0", "0"]],
      [
        "Ann Lee <ann@sandbox.test>; Bob <bob@sandbox.test>;\r\n 'Cy' <cy@sandbox.test>",
        ["3", "0", "0", "0"],
      ],
      ["Team: a@sandbox.test, b@sandbox.test; c@sandbox.test", ["3", "0", "0", "0"]],
      ["Ann Lee\n<ann@sandbox.test>, Nobody, b@sandbox.test", ["2", "0", "1", "0"]],
      ["a@sandbox.test\nb@sandbox.test\nnone", ["2", "0", "1", "0"]],
      ["Name\tMail\nAnn\ta@sandbox.test\nBob\tb@sandbox.test", ["2", "0", "0", "0"]],
    ]) {
      await paste.fill(text);
      await reader.press("Read the list");
      await reader.page.getByRole("button", { name: /^Scan \w+ address/ }).waitFor();
      assert.deepEqual(await figures(reader), expected, text);
      await reader.press("Choose another list");
    }
  });

  world.test("the preview counts as addresses what the results will", async (reader) => {
    const { apiKey } = await world.account();
    const texts = [
      "a@sandbox.test",
      "Ann <ann@sandbox.test>",
      "<b@sandbox.test>",
      '"Doe, J" <c@sandbox.test>',
      "x",
      "@sandbox.test",
      "a@",
      "a@b@sandbox.test",
      "a b@sandbox.test",
      ".a@sandbox.test",
      "a..b@sandbox.test",
      "a@sandbox..test",
      "a@-sandbox.test",
      "a@sandbox_.test",
      "a@localhost",
      "a@192.0.2.1",
      "a@[192.0.2.1]",
      "a@sandbox.test.",
      '"a b"@sandbox.test',
      '"a@sandbox.test',
      `${"a".repeat(65)}@sandbox.test`,
      `${"é".repeat(33)}@sandbox.test`,
      "é@sandbox.test",
      "a@bücher.test",
      "a@xn--bcher-kva.test",
      "a@xn--zz--.test",
      "a,b@sandbox.test",
      "a@sandbox,test",
      "Ann <a@sandbox.test> x",
      "a@sandbox.test (Ann)",
      "mailto:a@sandbox.test",
      "a@sandbox.test\u200b",
      "a@exa mple.test",
    ];
    const body = { addresses: texts };
    const { body: scan } = await reader.stack.api("POST", "/v1/scans", {
      headers: { "X-API-Key": apiKey },
      body,
    });
    const { body: found } = await eventually("the malformed ones are known", async () => {
      const answer = await reader.stack.api("GET", `/v1/scans/${scan.id}/results?status=invalid_format`, {
        headers: { "X-API-Key": apiKey },
      });
      return answer.body.results.length > 0 && answer;
    });
    const list = ["email", ...texts.map((text) => `"${text.replaceAll('"', '""')}"`), ""].join("\n");
    await reader.enter(await world.account(), "/scans");
    await chooses(reader, file(list));
    await reader.page.getByText("rows can’t be read as an address").click();
    const told = await reader.page.getByText(/^Row \d+: /).allInnerTexts();
    assert.deepEqual(
      told.map((text) => Number(/\d+/.exec(text)[0]) - 2),
      found.results.map(({ position }) => position),
    );
  });

  world.test("no address of public bug reports is a mistake in a form here", async () => {
    const { checkMistake } = await sourceOf("words/addresses.ts");
    const rows = readFileSync(new URL("../../../shared/tests/texts.tsv", import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .slice(1)
      .map((line) => line.split("\t"))
      .map(([text, expected]) => ({ text: JSON.parse(`"${text}"`), valid: expected !== "invalid_format" }));
    assert.ok(rows.length > 250);
    for (const { text, valid } of rows) {
      if (valid) assert.equal(checkMistake(text), undefined, text);
    }
  });

  world.test(
    "a pasted list that is too long for the plan says so before anything is sent",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const list = Array.from({ length: 201 }, (_, n) => `accepts+${n}@sandbox.test`).join("\n");
      await reader.field("Or paste addresses").fill(list);
      await reader.press("Read the list");
      await reader.sees("This list is too long for your plan.");
      assert.equal(await reader.page.getByRole("button", { name: /^Scan / }).count(), 0);
      await reader.accessible("a list that is too long");
      await reader.press("Choose another list");
      await reader.press("Read the list");
      await reader.sees("This has no text in it.");
    },
  );

  world.test("a spreadsheet is read here, and one that can't be is refused by name", async (reader) => {
    await reader.enter(await world.account(), "/scans");
    const rows = Array.from({ length: 30 }, (_, n) => [
      `Person ${n}`,
      `${KINDS[n % 2]}+${n}@sandbox.test`,
      n,
    ]);
    rows[2][0] = "=1+1";
    rows[3].splice(0, 3, "@SUM(1)", rows[3][1], -3);
    const workbook = spreadsheet([["Name", "E-Mail", "Count"], ...rows]);
    await scans(
      reader,
      { name: "kunden.xlsx", mimeType: "application/zip", buffer: workbook },
      "Scan 30 addresses",
    );
    // An xlsx comes back as an xlsx, in which a text is a text.
    const { name, bytes } = await downloads(reader, "Download all");
    assert.equal(name, "kunden.verdicts.xlsx");
    const cells = (file) => {
      const sheet = strFromU8(
        Object.values(unzipSync(file, { filter: ({ name }) => /sheet1/.test(name) }))[0],
      );
      const all = [...sheet.matchAll(/<c r="(\w+)"[^>]*>.*?<(?:t|v)[^>]*>([^<]*)</g)];
      return Object.fromEntries(all.map(([, place, text]) => [place, text]));
    };
    const all = cells(bytes);
    assert.deepEqual([all.A1, all.B1, all.D1, all.J1], ["Name", "E-Mail", "rcpt_verdict", "rcpt_final"]);
    assert.deepEqual([all.A3, all.C3, all.D3], ["Person 1", "1", "undeliverable"]);
    assert.deepEqual([all.A4, all.D4, all.A5, all.D5], ["=1+1", "deliverable", "@SUM(1)", "undeliverable"]);
    await shows(reader, "deliverable");
    const { name: some, bytes: fewer } = await downloads(reader, "Download deliverable");
    assert.equal(some, "kunden.deliverable.xlsx");
    const few = cells(fewer);
    assert.deepEqual(
      [few.B2, few.B3, few.D3],
      ["accepts+0@sandbox.test", "accepts+2@sandbox.test", "deliverable"],
    );
    assert.ok(few.B16 !== undefined && few.B17 === undefined, "15 rows under their headings");
    // It is read here again, and scanned again its columns stand there once.
    await reader.page.reload();
    await chooses(reader, { name: "kunden.verdicts.xlsx", mimeType: "application/zip", buffer: bytes });
    await results(reader)
      .getByRole("row", { name: /^2 accepts\+0@sandbox\.test Deliverable/ })
      .waitFor();
    const again = cells((await downloads(reader, "Download all")).bytes);
    assert.deepEqual([again.D1, again.J1, again.K1], ["rcpt_verdict", "rcpt_final", undefined]);
    for (const [buffer, text] of [
      [
        Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0]),
        "This workbook can’t be opened: it’s damaged, or it has a password.",
      ],
      [Buffer.concat([Buffer.from("PK\u0003\u0004"), Buffer.alloc(200)]), "This workbook can’t be opened"],
      [spreadsheet([["a"]], 257 * 1024 * 1024), "This workbook is too large to read here."],
      [Buffer.from("%PDF-1.7 list of ann@example.org"), "This is a PDF document, not a list."],
      [Buffer.from('[{"email": "ann@example.org"}]'), "This is a JSON file, not a list."],
    ]) {
      await reader.page.reload();
      await chooses(reader, { name: "x.xlsx", mimeType: "application/zip", buffer });
      await reader.sees(text);
    }
    await reader.accessible("a spreadsheet that is refused");
  });

  world.test(
    "fifty thousand rows are read without the page ever hanging, also on a phone",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      await reader.page.setViewportSize({ width: 360, height: 740 });
      const longest = await watchTasks(reader.page);
      await chooses(reader, file(csv(50_000)));
      await reader.sees("This list is too long for your plan.");
      console.log(`longest task with 50,000 rows: ${Math.round(await longest())} ms`);
      const width = await reader.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `the page is ${width} pixels wide`);
      await reader.accessible("on a phone");
    },
  );
}

/** Returns the bytes of a small workbook; one of its parts has `padding` further bytes. */
function spreadsheet(rows, padding = 0) {
  const cell = (value, at, row) => {
    const where = `r="${String.fromCharCode(65 + at)}${row + 1}"`;
    if (typeof value === "number") return `<c ${where}><v>${value}</v></c>`;
    return `<c ${where} t="inlineStr"><is><t>${value}</t></is></c>`;
  };
  const rowOf = (cells, row) =>
    `<row r="${row + 1}">${cells.map((value, at) => cell(value, at, row)).join("")}</row>`;
  const sheet = rows.map(rowOf).join("");
  const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const relations = "http://schemas.openxmlformats.org/package/2006/relationships";
  const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const types = "http://schemas.openxmlformats.org/package/2006/content-types";
  const parts = {
    "[Content_Types].xml": `<Types xmlns="${types}"><Default Extension="xml" ContentType="application/xml"/></Types>`,
    "_rels/.rels": `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml": `<workbook xmlns="${main}" xmlns:r="${office}"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    "xl/worksheets/sheet1.xml": `<worksheet xmlns="${main}"><sheetData>${sheet}</sheetData></worksheet>${" ".repeat(padding)}`,
  };
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([path, xml]) => [path, strToU8(xml)]))),
  );
}
