// Debian's Chromium, with windows that record forbidden events.
//
// The headless shell is the same engine without drawing, which would take half of the run's time.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell";
/** Milliseconds by which responses are late, by their path. */
const LATE = process.env.SLOW === undefined ? {} : { "/v1/": 800, "/assets/": 200 };

export function launch() {
  return chromium.launch({
    executablePath: EXECUTABLE,
    // Chromium's own services mustn't use the network. Chromium's sandbox doesn't work as root, which containers use.
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/**
 * Opens a window with its own storage, a record of events that mustn't happen, and a record of refused requests for
 * reports. `foreign`: web origins besides the service's from which pages may load.
 */
export async function openWindow(browser, stack, { foreign = [], ...options } = {}) {
  const context = await browser.newContext({
    baseURL: stack.url,
    viewport: { width: 1280, height: 900 },
    timezoneId: "Europe/Zurich",
    permissions: ["clipboard-read", "clipboard-write"],
    ...options,
  });
  // Time limit for conditions that are immediate on an idle machine.
  context.setDefaultTimeout(120_000);
  const wrongs = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    const isExpected = [stack.url, ...foreign].includes(url.origin) || url.protocol === "blob:";
    if (!isExpected) wrongs.push(`a request to ${url.origin}`);
  });
  const refused = [];
  context.on("response", (response) => {
    if (response.status() >= 400)
      refused.push(`${response.request().method()} ${response.url()}: ${response.status()}`);
  });
  context.on("requestfailed", (request) => {
    refused.push(`${request.method()} ${request.url()}: ${request.failure()?.errorText}`);
  });
  context.on("weberror", (error) =>
    wrongs.push(`an uncaught error: ${error.error().stack ?? error.error()}`),
  );
  context.on("console", (message) => {
    // Chromium reports every status of 400 and above, and aborted requests, as errors.
    const answered = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !answered)
      wrongs.push(`on the console: ${message.text()}`);
  });
  if (options.javaScriptEnabled !== false) {
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`policy violation: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`);
      });
    });
  }
  for (const [path, ms] of Object.entries(LATE)) {
    await context.route(`**${path}**`, async (route) => {
      await sleep(ms);
      // The test, or the page, may have ended.
      await route.fallback().catch(() => {});
    });
  }
  if (process.env.SLOW !== undefined && options.javaScriptEnabled !== false) {
    await context.addInitScript(() => {
      const next = globalThis.requestAnimationFrame;
      globalThis.requestAnimationFrame = (draw) => setTimeout(() => next(draw), 400);
    });
  }
  const page = await context.newPage();
  return { context, page, wrongs, refused };
}

/** Asserts that the named accessibility rules, or otherwise WCAG's and best practices, find nothing in the view. */
export async function assertAccessible(page, state, rules) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
  const violations = await page.evaluate(async (rules) => {
    const { violations } = await globalThis.axe.run(document, {
      // Only failures need details; without those of all others, a run takes a sixth less time.
      resultTypes: ["violations"],
      selectors: false,
      runOnly: rules ?? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
      // The rule for the size of touch targets is off by default.
      rules: rules === undefined ? { "target-size": { enabled: true } } : {},
    });
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`),
    );
  }, rules);
  assert.deepEqual(violations, [], `axe, ${state}`);
}
