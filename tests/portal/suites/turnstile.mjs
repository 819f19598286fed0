// Cloudflare Turnstile in a portal that is built with it: the policy of its pages, and the token
// sent with the forms.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { eventually, ROOT } from "../stack.mjs";
import { PASSWORD } from "../world.mjs";

const run = promisify(execFile);
const CLOUDFLARE = "https://challenges.cloudflare.com";

/** Replacement of Cloudflare's script: gives each widget its own token. */
const SCRIPT = `
  let widgets = 0;
  globalThis.given = [];
  globalThis.removed = [];
  globalThis.turnstile = {
    render(container, { sitekey, callback }) {
      const widget = String((widgets += 1));
      setTimeout(() => {
        callback(sitekey + "-" + widget);
        given.push(widget);
      });
      return widget;
    },
    remove: (widget) => removed.push(widget),
  };`;

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css" };

/** Serves the pages of a folder at the service's web origin, with the folder's policy. */
async function serve(page, stack, folder) {
  const policy = /Content-Security-Policy: (.*)/.exec(readFileSync(path.join(folder, "_headers"), "utf8"))[1];
  await page.route(
    (url) => url.origin === stack.url && !url.pathname.startsWith("/v1/"),
    (route) => {
      const { pathname } = new URL(route.request().url());
      const name = path.extname(pathname) === "" ? `${pathname}.html` : pathname;
      const file = path.join(folder, name);
      if (!existsSync(file)) return route.fulfill({ status: 404, body: "" });
      const headers = { "Content-Security-Policy": policy };
      const contentType = TYPES[path.extname(name)] ?? "application/octet-stream";
      return route.fulfill({ body: readFileSync(file), contentType, headers });
    },
  );
}

export function suite(world) {
  world.test(
    "with Turnstile each form is sent with a token of its own, and without it where it fails",
    async (reader) => {
      const { page, stack } = reader;
      const folder = mkdtempSync(path.join(tmpdir(), "rcpt-portal-turnstile-"));
      try {
        const options = { env: { ...process.env, TURNSTILE_SITE_KEY: "site-key" } };
        await run("node", [path.join(ROOT, "edge/portal/build.mjs"), folder], options);
        await serve(page, stack, folder);
        let works = true;
        await page.route(`${CLOUDFLARE}/**`, (route) =>
          works ? route.fulfill({ contentType: "text/javascript", body: SCRIPT }) : route.abort(),
        );
        const sent = [];
        await page.route("**/v1/auth/*", (route) => {
          sent.push(route.request().postDataJSON().turnstile_token);
          return sent.length === 1
            ? route.fulfill({ status: 503, json: { detail: "Try again.", code: "unavailable" } })
            : route.fulfill({ status: 201, json: {} });
        });
        const arrived = (count) => eventually("the form is sent", () => sent.length === count);
        // Waits until the form has an unused token.
        const hasToken = () =>
          page.waitForFunction(() => globalThis.given?.length > globalThis.removed.length);

        await reader.open("/register");
        await reader.fill({ "Email address": world.newEmail(), Password: PASSWORD });
        await hasToken();
        await reader.press("Create account");
        await arrived(1);
        await page.waitForFunction(() => globalThis.removed.length === 1);
        await hasToken();
        await reader.press("Create account");
        await reader.reads("Check your inbox");
        await page.waitForFunction(() => globalThis.removed.length >= 2);
        await hasToken();
        await reader.press("Send it again");
        await arrived(3);
        assert.deepEqual(sent.slice(0, 2), ["site-key-1", "site-key-2"]);
        assert.match(sent[2], /^site-key-[3-9]$/);

        works = false;
        await reader.open("/forgot");
        await reader.fill({ "Email address": world.newEmail() });
        await reader.press("Send reset link");
        await reader.reads("Check your inbox");
        assert.deepEqual(sent.slice(3), [undefined]);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    { foreign: [CLOUDFLARE] },
  );
}
