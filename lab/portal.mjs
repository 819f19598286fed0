// Measures a first visit: bytes, requests, and the time until the page is usable. Prints a table and writes
// target/bench/portal.json. Run with `make bench ONLY=portal`; it has the same requirements as the tests.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { launch, openWindow } from "../tests/portal/browser.mjs";
import { ROOT, startStack } from "../tests/portal/stack.mjs";

const VISITS = 15;
const DIST = path.join(ROOT, "edge/portal/dist");
/** Maximum size of the gzipped JavaScript in bytes, as in suites/first-page.mjs. */
const LIMIT = 30_000;
/** "Slow 4G" of Chromium's developer tools: 150 ms and 1.6 Mbit/s. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };

const html = readFileSync(path.join(DIST, "index.html"), "utf8");
const linked = (pattern) => [...html.matchAll(pattern)].map(([, url]) => path.join(DIST, url));
const gzipped = (files) =>
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
const script = gzipped(linked(/(?:src|href)="(\/assets\/[^"]+\.js)"/g));
const style = gzipped(linked(/href="(\/assets\/[^"]+\.css)"/g));

const stack = await startStack();
const browser = await launch();
const figures = [
  { name: "portal first page, JavaScript, gzipped", value: script, unit: "bytes", n: 1 },
  { name: "portal first page, styles, gzipped", value: style, unit: "bytes", n: 1 },
];
try {
  const near = await visits(undefined);
  figures.push({ name: "portal first page, requests", value: near[0].requests, unit: "requests", n: VISITS });
  const times = {
    "first byte": "byte",
    "first interaction": "usable",
    "first paint": "painted",
  };
  const far = await visits(SLOW);
  for (const [what, key] of Object.entries(times)) {
    const name = `portal first page, time to ${what}`;
    figures.push({ name: `${name}, median`, value: median(near, key), unit: "ms", n: VISITS });
    figures.push({ name: `${name}, slow 4G, median`, value: median(far, key), unit: "ms", n: VISITS });
  }
} finally {
  await browser.close();
  await stack.stop();
}

for (const { name, value, unit, n } of figures)
  console.log(`${name.padEnd(64)} ${String(value).padStart(8)} ${unit} (n=${n})`);
mkdirSync(path.join(ROOT, "target/bench"), { recursive: true });
writeFileSync(path.join(ROOT, "target/bench/portal.json"), JSON.stringify(figures, null, 2));
if (script > LIMIT) throw new Error(`the first page has ${script} bytes of JavaScript, more than ${LIMIT}`);

/** Measures visits with an empty cache, each from the start of the navigation to a usable link. */
async function visits(network) {
  const measured = [];
  for (let visit = 0; visit < VISITS; visit += 1) {
    const { context, page } = await openWindow(browser, stack);
    if (network !== undefined) {
      const session = await context.newCDPSession(page);
      await session.send("Network.enable");
      await session.send("Network.emulateNetworkConditions", network);
    }
    let requests = 0;
    page.on("request", () => (requests += 1));
    await page.addInitScript(() => {
      new MutationObserver((_, observer) => {
        if (document.querySelector('main a[href="/register"]') === null) return;
        observer.disconnect();
        globalThis.usableAt = performance.now();
      }).observe(document, { childList: true, subtree: true });
    });
    await page.goto("/");
    await page.waitForFunction(
      () => globalThis.usableAt && performance.getEntriesByName("first-contentful-paint").length > 0,
    );
    const times = await page.evaluate(() => ({
      byte: performance.getEntriesByType("navigation")[0].responseStart,
      usable: globalThis.usableAt,
      painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    }));
    await page.waitForLoadState("networkidle");
    const loaded = requests;
    await page.getByRole("link", { name: "Create a free account" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Create your account" }).waitFor();
    measured.push({ requests: loaded, ...times });
    await context.close();
  }
  return measured;
}

function median(measured, key) {
  const times = measured.map((visit) => visit[key]).sort((a, b) => a - b);
  return Math.round(times[Math.floor(times.length / 2)]);
}
