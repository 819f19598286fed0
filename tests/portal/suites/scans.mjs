// Scans: a list goes in, its verdicts come out beside it, and it can be stopped and deleted.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const KINDS = [
  ["accepts", "Accepted"],
  ["rejects", "Refused"],
];

/** A customer's file: a header, the addresses in the second column, one that is none, one that is repeated. */
function csv(rows) {
  const lines = Array.from(
    { length: rows },
    (_, n) => `"Person, ${n}",${KINDS[n % 2][0]}+${n}@sandbox.test,x`,
  );
  lines[2] = 'Nobody,"not an address",x';
  lines[4] = lines[0];
  return ["Name,Email,Note", ...lines, ""].join("\r\n");
}

const file = (rows, name = "customers.csv") => ({
  name,
  mimeType: "text/csv",
  buffer: Buffer.from(csv(rows)),
});

/** How long the page did not respond, at worst, in milliseconds. */
async function watchTasks(page) {
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
    }).observe({ entryTypes: ["longtask"] });
  });
  return () => page.evaluate(() => window.longest);
}

export function suite(world) {
  world.test(
    "a file of ten rows is read here, scanned, shown by row, and comes back as a file",
    async (reader) => {
      const account = await world.account();
      await reader.enter(account, "/scans");
      await reader.accessible("no scans yet");
      await reader.field("CSV or text file").setInputFiles(file(10));
      await reader.button("Scan 10 addresses").waitFor();
      const column = reader.page.getByLabel("Column with the addresses");
      assert.equal(await column.inputValue(), "1", "found by itself");
      await reader.page.locator("dl").getByText("…").first().waitFor({ state: "detached" });
      assert.deepEqual(await reader.page.locator("dl dd").allInnerTexts(), ["10", "1", "1"]);
      await column.selectOption("0");
      await reader.page.locator("dl dd").nth(2).getByText("10", { exact: true }).waitFor();
      await column.selectOption("1");
      await reader.accessible("a list that was read");
      await reader.press("Scan 10 addresses");
      await reader.reads("customers.csv");
      await reader.page.getByRole("heading", { name: "Completed" }).waitFor({ timeout: 60_000 });
      await reader.sees("10 of 10 addresses have a verdict.");

      const verdicts = reader.page.getByRole("table", { name: "Addresses by verdict" });
      await verdicts.getByRole("row", { name: /Accepted 4/ }).waitFor();
      await verdicts.getByRole("row", { name: /Refused 5/ }).waitFor();
      await reader.page.getByRole("table", { name: "Addresses by reason" }).waitFor();
      await reader.accessible("a finished scan");
      const table = reader.page.getByRole("region", { name: "Results by position" });
      await table.getByRole("row", { name: "1 accepts+0@sandbox.test Accepted" }).waitFor();
      await reader.page.getByRole("combobox", { name: /^Show/ }).selectOption("false");
      assert.equal(await table.getByRole("row").count(), 6, "a heading, and five that were refused");
      const [download] = await Promise.all([
        reader.page.waitForEvent("download"),
        reader.press("Download CSV"),
      ]);
      assert.equal(download.suggestedFilename(), "customers-rcpt.csv");
      const lines = readFileSync(await download.path(), "utf8").split("\r\n");
      assert.equal(lines[0], "Name,Email,Note,rcpt_status,rcpt_verdict,rcpt_confidence,rcpt_reason");
      assert.equal(lines.length, 12);
      assert.match(
        lines[2],
        /^"Person, 1",rejects\+1@sandbox\.test,x,false,undeliverable,\w+,no_such_mailbox$/,
      );
      assert.match(lines[3], /^Nobody,not an address,x,invalid_format,/);

      // Another visit: the list is not kept, and can be chosen again.
      await reader.page.reload();
      await reader.sees("We don’t keep your addresses.");
      await reader.field("CSV or text file").setInputFiles(file(9, "other.csv"));
      await reader.sees("another number of rows");
      await reader.field("CSV or text file").setInputFiles(file(10));
      await table.getByText("accepts+0@sandbox.test").first().waitFor();

      await reader.press("Delete the scan");
      await reader.accessible("asked before deleting");
      await reader.press("Delete for good");
      await reader.reads("Scans");
      await reader.sees("None yet.");
      await reader.sees("0 of 1 scans left today");
    },
  );

  world.test(
    "a pasted list that is too long for the plan says so before anything is sent",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      const list = Array.from({ length: 201 }, (_, n) => `accepts+${n}@sandbox.test`).join("\n");
      await reader.field("Or paste addresses, one per line").fill(list);
      await reader.press("Read the list");
      await reader.sees("This list is too long for your plan.");
      assert.equal(await reader.page.getByRole("button", { name: /^Scan / }).count(), 0);
      await reader.accessible("a list that is too long");
      await reader.press("Choose another list");
      await reader.press("Read the list");
      await reader.sees("There’s nothing to read in it.");
    },
  );

  world.test(
    "fifty thousand rows are read without the page ever hanging, also on a phone",
    async (reader) => {
      await reader.enter(await world.account(), "/scans");
      await reader.page.setViewportSize({ width: 360, height: 740 });
      const longest = await watchTasks(reader.page);
      await reader.field("CSV or text file").setInputFiles(file(50_000));
      await reader.sees("This list is too long for your plan.");
      await reader.page.locator("dl").getByText("…").first().waitFor({ state: "detached" });
      console.log(`longest task with 50,000 rows: ${Math.round(await longest())} ms`);
      const width = await reader.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 360, `the page is ${width} pixels wide`);
      await reader.accessible("on a phone");
    },
  );
}
