// Takes screenshots of every page and its main states, into target/screenshots: NAME-WIDTH-SCHEME.png. Run with `npm
// run portal:screenshots [NAME]...`; it needs the tests' installation. Three screenshots are in docs/.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { openWindow } from "./browser.mjs";
import { ROOT } from "./stack.mjs";
import { allMails, showMail } from "./suites/mails.mjs";
import { useUp } from "./suites/overview.mjs";
import { PASSWORD, Reader, World } from "./world.mjs";

const FOLDER = path.join(ROOT, "target/screenshots");
const WIDTHS = { 360: 740, 768: 1024, 1280: 800 };
const SCHEMES = ["light", "dark"];

/** Functions that bring the window to a state; `account` is confirmed, `secured` has two-factor on. */
const PICTURES = {
  home: (reader) => reader.open("/"),
  register: async (reader) => {
    await reader.open("/register");
    await reader.fill({ "Email address": "ann@example", Password: "violet anchor" });
  },
  "register-mistakes": async (reader) => {
    await reader.open("/register");
    await reader.fill({ "Email address": "ann@example.org", Password: "password" });
    await reader.press("Create account");
    await reader.sees(/too common/);
  },
  inbox: async (reader, { world }) => {
    await reader.open("/register");
    await reader.fill({ "Email address": world.newEmail(), Password: PASSWORD });
    await reader.press("Create account");
    await reader.reads("Check your inbox");
  },
  verify: (reader) => reader.open("/verify?token=example"),
  "verify-useless": async (reader) => {
    await reader.open("/verify?token=example");
    await reader.fill({ Password: PASSWORD, "Password again": PASSWORD });
    await reader.press("Confirm my address");
    await reader.reads("This link doesn’t work");
  },
  "sign-in": (reader) => reader.open("/sign-in"),
  "sign-in-code": async (reader, { secured }) => {
    await reader.signIn(secured);
    await reader.reads("Two-factor code");
  },
  forgot: (reader) => reader.open("/forgot"),
  reset: (reader) => reader.open("/reset?token=example"),
  overview: async (reader, { account }) => {
    await reader.enter(account);
    await check(reader, "rejects@sandbox.test", "Undeliverable: it can’t receive mail");
  },
  "overview-accepted": async (reader, { account }) => {
    await reader.enter(account);
    await check(reader, "accepts@sandbox.test", "Deliverable: it can receive mail");
  },
  "overview-unknown": async (reader, { account }) => {
    await reader.enter(account);
    await check(reader, "greylisted@sandbox.test", "declined to answer");
  },
  "overview-loading": async (reader, { account }) => {
    await reader.enter(account);
    await reader.page.route("**/v1/**", () => {});
    await reader.page.reload();
    await reader.page.locator(".skeleton").first().waitFor();
  },
  "api-key": (reader, { account }) => reader.enter(account, "/api-key"),
  "api-key-replace": async (reader, { account }) => {
    await reader.enter(account, "/api-key");
    await reader.press("Replace key…");
  },
  settings: async (reader, { account }) => {
    await reader.enter(account, "/settings");
    await reader.field("Name").waitFor();
  },
  "settings-two-factor": async (reader, { account }) => {
    await reader.enter(account, "/settings");
    await reader.press("Turn on…");
    const region = reader.page.getByRole("region", { name: "Two-factor authentication" });
    await region.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Continue");
    await region.getByRole("img", { name: /QR code/ }).waitFor();
  },
  "settings-recovery-codes": async (reader, { world }) => {
    await reader.enter(await world.account(), "/settings");
    await reader.page.route("**/v1/auth/totp/enable", (route) =>
      route.fulfill({
        json: {
          recovery_codes: Array.from(
            { length: 10 },
            (_, n) => `abcd-efgh-ijkl-mnop-qrst-uvw${"pqrstuvwxy"[n]}`,
          ),
        },
      }),
    );
    await reader.press("Turn on…");
    const region = reader.page.getByRole("region", { name: "Two-factor authentication" });
    await region.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await reader.press("Continue");
    await reader.fill({ Code: "123456" });
    await reader.press("Turn on");
    await reader.sees("save your recovery codes");
  },
  "settings-delete": async (reader, { account }) => {
    await reader.enter(account, "/settings");
    await reader.press("Delete account…");
  },
  docs: async (reader, { account }) => {
    await reader.enter(account, "/docs");
    await reader.page.locator("#validateEmail").waitFor();
  },
  "docs-check": async (reader, { account }) => {
    await reader.enter(account, "/docs");
    await reader.page.locator("#validateEmail").waitFor();
    await reader.page.locator("#validateEmail").evaluate((section) => section.scrollIntoView());
  },
  privacy: (reader) => reader.open("/privacy"),
  scans: (reader, { account }) => reader.enter(account, "/scans"),
  scan: async (reader, people) => {
    people.scan ??= await startScan(reader.stack, people.account);
    await reader.enter(people.account, `/scans?id=${people.scan}`);
    await reader.page.getByRole("heading", { name: "Completed" }).waitFor({ timeout: 120_000 });
    await reader.page.getByRole("table", { name: "Addresses by reason" }).waitFor();
  },
  "overview-used-up": async (reader, { world }) => {
    const account = await world.account();
    await useUp(world.stack, account.email);
    await reader.enter(account);
    await reader.sees("You’ve used all your checks.");
  },
  "overview-several": async (reader, { account }) => {
    await reader.enter(account);
    await check(reader, "accepts@sandbox.test", "Deliverable: it can receive mail");
    await check(reader, "blocked@sandbox.test", "declined to answer");
    await check(reader, "rejects@sandbox.test", "Undeliverable: it can’t receive mail");
  },
  "mail-confirm": (reader, { mails }) => showMail(reader.page, reader.stack, mails[0].html),
  "mail-deleted": (reader, { mails }) => showMail(reader.page, reader.stack, mails.at(-1).html),
  "not-found": (reader) => reader.open("/no/such/page"),
  unavailable: async (reader, { account }) => {
    await reader.enter(account);
    await reader.page.route("**/v1/**", (route) => route.abort());
    await reader.open("/settings");
    await reader.sees("The service is unavailable");
  },
};

/** Names in docs/ of the pictures for the README. */
const IN_DOCS = {
  "home-1280-light": "portal-home",
  "overview-several-1280-light": "portal-overview",
  "docs-1280-light": "portal-reference",
};

async function check(reader, email, verdict) {
  await reader.page.getByRole("region", { name: "Check an address" }).getByLabel("Email address").fill(email);
  await reader.press("Check");
  await reader.sees(verdict);
}

/** Starts a scan of this account whose verdicts are final immediately; returns its id. */
async function startScan(stack, { apiKey }) {
  const kinds = ["accepts", "accepts", "accepts", "rejects", "full", "blocked"];
  const addresses = Array.from({ length: 40 }, (_, n) => `${kinds[n % kinds.length]}+${n}@sandbox.test`);
  const body = {
    addresses: [...addresses, "x@nodomain.test", "not an address"],
    details: true,
    name: "customers.csv",
  };
  const { body: scan } = await stack.api("POST", "/v1/scans", { headers: { "X-API-Key": apiKey }, body });
  return scan.id;
}

/** Inserts a month of usage, mostly on working days. */
async function useForAMonth(stack, { email }) {
  const today = Math.floor(Date.now() / 86_400_000);
  for (let ago = 29; ago > 0; ago -= 1) {
    // 1970-01-01 was a Thursday.
    const weekend = ((today - ago + 4) % 7) % 6 === 0;
    const checks = weekend ? 4 + (ago % 3) : 38 + ((ago * 17) % 45);
    await stack.sql(
      "UPDATE accounts SET days = json_insert(days, '$[#]', json_array(?, ?, welcome_left)) WHERE email = ?",
      today - ago,
      checks,
      email,
    );
  }
}

const wanted = process.argv.slice(2);
const names = Object.keys(PICTURES).filter((name) => wanted.length === 0 || wanted.includes(name));
if (wanted.length === 0) rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER, { recursive: true });
const world = new World();
try {
  await world.start();
  const people = {
    world,
    account: await world.account("ann@example.org"),
    secured: await world.securedAccount(),
    mails: names.some((name) => name.startsWith("mail-")) ? await allMails(world) : [],
  };
  await useForAMonth(world.stack, people.account);
  for (const name of names) {
    for (const colorScheme of SCHEMES) {
      const { context, page } = await openWindow(world.browser, world.stack, {
        colorScheme,
        reducedMotion: "reduce",
      });
      await PICTURES[name](new Reader(world, page, context), people);
      for (const [width, height] of Object.entries(WIDTHS)) {
        await page.setViewportSize({ width: Number(width), height });
        // The reference is too long for one picture, and a dialog is only as high as the window.
        const fullPage =
          !["docs", "docs-check", "home"].includes(name) && (await page.locator("dialog").count()) === 0;
        const picture = `${name}-${width}-${colorScheme}`;
        const file = path.join(FOLDER, `${picture}.png`);
        await page.evaluate(() => document.fonts.ready);
        await page.screenshot({ path: file, fullPage });
        if (picture in IN_DOCS) copyFileSync(file, path.join(ROOT, "docs", `${IN_DOCS[picture]}.png`));
      }
      await context.close();
    }
    console.log(name);
  }
} finally {
  await world.stop();
}
