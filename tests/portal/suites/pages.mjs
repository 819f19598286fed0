// Properties of all pages: headers, policy, accessibility, navigation.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { assertAccessible, openWindow } from "../browser.mjs";
import { ROOT, eventually } from "../stack.mjs";
import { sourceOf } from "./source.mjs";

const run = promisify(execFile);
const { PAGES } = await sourceOf("pages.ts");
const PUBLIC = [
  "/",
  "/register",
  "/sign-in",
  "/verify",
  "/forgot",
  "/reset",
  "/docs",
  "/start",
  "/stop-emails",
  "/confirm-address",
  "/stop",
  "/sandbox",
  "/webhooks",
  "/privacy",
  "/deleted",
];
const WIDTHS = [320, 768, 1280];
const MEMBERS = [
  "/overview",
  "/scans",
  "/guard",
  "/api-key",
  "/settings",
  "/settings/security",
  "/settings/notifications",
  "/settings/plan",
];

export function suite(world) {
  world.test(
    "every stable path loads directly, under a strict policy, and its document alone names it",
    async ({ stack }) => {
      assert.deepEqual(
        PAGES.map((page) => page.path)
          .filter(Boolean)
          .sort(),
        [...PUBLIC, ...MEMBERS].sort(),
      );
      for (const { path: route, title } of PAGES.filter((page) => page.path !== null)) {
        const reply = await fetch(stack.url + route, { redirect: "manual" });
        const html = await reply.text();
        assert.equal(reply.status, 200, route);
        assert.ok(html.includes(`<title>${title} · rcpt</title>`), route);
        assertHeaders(reply, route);
        assert.ok(!/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/.test(html), `${route}: nothing inline`);
      }
    },
  );

  world.test("listed pages have what search engines and link previews read", async ({ stack }) => {
    const read = async (route) => (await fetch(stack.url + route)).text();
    const sitemap = await read("/sitemap.xml");
    assert.match(await read("/robots.txt"), /^Sitemap: https?:\/\/\S+\/sitemap\.xml$/m);
    const listed = PAGES.filter(({ description }) => description !== null);
    assert.deepEqual(
      [...sitemap.matchAll(/<loc>([^<]+)<\/loc>/g)].map(([, url]) => new URL(url).pathname),
      listed.map(({ path: route }) => route),
    );
    for (const { path: route, title, description } of PAGES) {
      const html = await read(route ?? "/no/such/page");
      const [, robots] = /<meta name="robots" content="(\w+)">/.exec(html);
      assert.equal(robots, description === null ? "noindex" : "index", route);
      if (description === null) continue;
      assert.ok(title.length <= 60, `${route}: a title of ${title.length} characters is cut off`);
      assert.ok(description.length >= 50 && description.length <= 160, `${route}: ${description.length}`);
      for (const tag of [
        `<meta name="description" content="${description}">`,
        `<meta property="og:title" content="${title}">`,
        `<meta property="og:description" content="${description}">`,
      ])
        assert.ok(html.includes(tag), `${route}: ${tag}`);
      const [, canonical] = /<link rel="canonical" href="([^"]+)">/.exec(html);
      assert.equal(new URL(canonical).pathname, route);
      const [, image] = /<meta property="og:image" content="([^"]+)">/.exec(html);
      const card = await fetch(stack.url + new URL(image).pathname);
      assert.equal(card.headers.get("content-type"), "image/png", route);
    }
  });

  world.test(
    "what an operator configures is in what is built, and nothing of it where it is not",
    async () => {
      const urls = {
        CONTACT_URL: "https://help.example/contact",
        TERMS_URL: "https://help.example/terms",
        STATUS_URL: "https://status.example/",
      };
      const built = async (env) => {
        const folder = mkdtempSync(path.join(tmpdir(), "rcpt-portal-built-"));
        try {
          const options = { env: { ...process.env, ...env } };
          await run("node", [path.join(ROOT, "edge/portal/build.mjs"), folder], options);
          const read = (file) => readFileSync(path.join(folder, file), "utf8");
          return {
            footer: /<footer.*<\/footer>/s.exec(read("index.html"))[0],
            headers: read("_headers"),
            home: read("index.html"),
          };
        } finally {
          rmSync(folder, { recursive: true, force: true });
        }
      };
      const prices = "unlimited=Ask us; pro=29 € a month, plus VAT";
      const configured = await built({
        ...urls,
        PORTAL_API_URL: "https://api.example/",
        PLAN_PRICES: prices,
      });
      assert.ok(configured.home.includes("29 € a month, plus VAT"));
      await assert.rejects(built({ PLAN_PRICES: "29 € a month" }), /PLAN_PRICES: expected each plan once/);
      for (const url of Object.values(urls)) assert.ok(configured.footer.includes(`href="${url}"`), url);
      // The API may have its own web origin; connections to others are blocked.
      assert.ok(
        configured.headers.includes("; connect-src 'self' https://api.example; "),
        configured.headers,
      );
      const none = { CONTACT_URL: "", CONTACT_EMAIL: "", TERMS_URL: "", STATUS_URL: "", PORTAL_API_URL: "" };
      const plain = await built(none);
      assert.ok(plain.footer.includes('href="/privacy"'));
      assert.ok(plain.home.includes("Price on request"));
      const mailed = await built({ ...none, CONTACT_EMAIL: "help@rcpt.example" });
      assert.ok(mailed.footer.includes('href="mailto:help@rcpt.example"'), mailed.footer);
      assert.ok(plain.headers.includes("; connect-src 'self'; "), plain.headers);
      for (const name of ["Contact", "Terms", "Status"]) assert.ok(!plain.footer.includes(`>${name}<`), name);
      assert.ok(!plain.headers.includes("cloudflare") && !plain.headers.includes("{{"), plain.headers);
    },
  );

  world.test("password managers find where a password is changed", async ({ stack }) => {
    const reply = await fetch(`${stack.url}/.well-known/change-password`, { redirect: "manual" });
    assert.equal(reply.status, 302);
    assert.equal(reply.headers.get("location"), "/settings/security#password");
  });

  world.test(
    "programs find every public page as Markdown, and people without JavaScript the reference",
    async ({ stack }) => {
      const read = async (file) => {
        const reply = await fetch(stack.url + file);
        assert.equal(reply.status, 200, file);
        return { text: await reply.text(), type: reply.headers.get("content-type") };
      };
      const { text: index } = await read("/llms.txt");
      const listed = [...index.matchAll(/^- \[[^\]]+\]\(https?:\/\/[^/]+(\/[^)]+\.md)\)/gm)].map(
        ([, file]) => file,
      );
      for (const file of ["/index.md", "/docs.md", "/start.md", "/privacy.md"])
        assert.ok(listed.includes(file), `${file}: ${index}`);
      for (const file of listed) {
        const { text, type } = await read(file);
        assert.match(type, /^text\/markdown/, file);
        assert.match(text, /^# \S/, file);
        assert.ok(!/<\/?[a-z]+[ >]/i.test(text.replace(/`[^`]*`/g, "")), `${file} has HTML in it`);
      }
      const reference = await read("/docs.md");
      assert.ok(
        reference.text.includes("### POST /v1/validate_email: Check an address"),
        reference.text.slice(0, 500),
      );
      const noscript = /<noscript>(.*)<\/noscript>/s.exec((await read("/docs")).text)[1];
      assert.ok(
        noscript.includes("<h3>POST /v1/validate_email: Check an address</h3>"),
        noscript.slice(0, 500),
      );
      const { text: security } = await read("/.well-known/security.txt");
      assert.match(security, /^Contact: mailto:help@example\.net\nExpires: \d{4}-\d\d-\d\dT00:00:00Z\n/);
      assert.match((await read("/favicon.ico")).type, /^image\//);
    },
  );

  world.test("assets are served for good, under the same policy", async ({ stack }) => {
    const html = await (await fetch(stack.url)).text();
    const assets = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, url]) => url);
    assert.ok(assets.length >= 2, html);
    for (const asset of assets) {
      const reply = await fetch(stack.url + asset);
      assert.equal(reply.headers.get("cache-control"), "public, max-age=31536000, immutable", asset);
      assertHeaders(reply, asset);
    }
  });

  world.test(
    "an unknown path shows the portal's page with status 404, and one of the API answers as the API",
    async (reader) => {
      const reply = await reader.open("/no/such/page");
      assert.equal(reply.status(), 404);
      await reader.reads("Page not found");
      await reader.accessible("not found");
      assertHeaders({ headers: new Headers(reply.headers()) }, "not found");
      for (const path of ["/v1/nothing", "/v1/"]) {
        const answer = await reader.open(path);
        assert.equal(answer.status(), 404, path);
        const { detail, code } = await answer.json();
        assert.deepEqual(
          { detail, code },
          { detail: "There is nothing at this path.", code: "not_found" },
          path,
        );
      }
    },
  );

  world.test(
    "every sandbox address is on one line, on a phone too, and each kind of domain has one",
    async (reader) => {
      await reader.page.setViewportSize({ width: 360, height: 800 });
      await reader.open("/sandbox");
      await reader.reads("Sandbox addresses");
      const cells = reader.page.getByRole("rowheader");
      const heights = await cells
        .locator("code")
        .evaluateAll((codes) => codes.map((code) => code.offsetHeight));
      assert.ok(heights.length > 40 && Math.max(...heights) < 30, heights.join(" "));
      const { body } = await reader.stack.api("GET", "/v1/openapi.json");
      const kinds = await reader.page.getByRole("table").last().locator("td:nth-child(2)").allInnerTexts();
      const known = body.components.schemas.DomainDetails.properties.kind;
      for (const kind of known.enum ?? known["x-extensible-enum"])
        assert.ok(kinds.includes(JSON.stringify(kind)), kind);
    },
  );

  for (const path of PUBLIC) {
    world.test(`${path} is accessible, wide and narrow, light and dark`, async (reader) => {
      const { title } = PAGES.find((page) => page.path === path);
      for (const width of WIDTHS) {
        await reader.page.setViewportSize({ width, height: 800 });
        await reader.open(path);
        // Links to these pages are incomplete without a token, and the pages say so.
        await reader.reads(
          ["/verify", "/reset", "/stop-emails", "/confirm-address", "/stop"].includes(path)
            ? "This link is incomplete"
            : title,
        );
        if (path === "/docs") await reader.page.locator("#validateEmail").waitFor();
        await reader.inBothSchemes(`${path} ${width}`);
      }
    });
  }

  for (const path of MEMBERS) {
    world.test(`${path} asks a stranger to sign in, and is accessible to a member`, async (reader) => {
      await reader.open(path);
      await reader.reads("Sign in");
      await reader.signIn(await world.account(), `/sign-in?next=${path}`);
      await reader.arrivesAt(path);
      const { title } = PAGES.find((page) => page.path === path);
      for (const width of WIDTHS) {
        await reader.page.setViewportSize({ width, height: 800 });
        await reader.open(path);
        await reader.reads(title);
        await reader.settles();
        await reader.inBothSchemes(`${path} ${width}`);
      }
    });
  }

  world.test(
    "without JavaScript every page that needs it says so politely, and keeps its links",
    async (reader) => {
      for (const { path, name } of PAGES) {
        await reader.open(path ?? "/nothing");
        const text = await reader.page.locator("main").innerText();
        if (name === "home") assert.match(text, /Create a free account/);
        else if (name === "privacy") assert.match(text, /in no database and in no log/);
        else if (name === "docs") assert.match(text, /POST \/v1\/validate_email: Check an address/);
        else assert.match(text, /This page needs JavaScript/, path);
        await reader.page.getByRole("contentinfo").getByRole("link", { name: "API reference" }).waitFor();
      }
    },
    { javaScriptEnabled: false },
  );

  world.test(
    "moving between pages loads no document, sets the title and moves the focus to the heading",
    async (reader) => {
      await reader.open("/");
      const documents = [];
      reader.page.on("request", (request) => request.isNavigationRequest() && documents.push(request.url()));
      await reader.follow("Sign in");
      await reader.reads("Sign in");
      await reader.follow("Create one");
      await reader.reads("Create your account");
      await reader.focuses("tagName", "H1");
      await reader.page.goBack();
      await reader.reads("Sign in");
      assert.deepEqual(documents, []);
    },
  );

  world.test("the windows of these tests notice what must never happen in them", async (reader) => {
    const { context, page, wrongs } = await openWindow(world.browser, reader.stack);
    await page.goto(`${reader.stack.url}/register`);
    const notices = async (what, provoke) => {
      await page.evaluate(provoke);
      await eventually(what, () => wrongs.some((wrong) => wrong.includes(what)));
    };
    await notices("policy violation: connect-src", () => void fetch("http://127.0.0.1:1/").catch(() => {}));
    await notices("policy violation: style-src-attr", () =>
      document.body.setAttribute("style", "color: red"),
    );
    await notices("policy violation: require-trusted-types-for", () => {
      try {
        document.body.innerHTML = "<p>";
      } catch {
        // The browser must reject the assignment.
      }
    });
    await notices(
      "an uncaught error",
      () =>
        void setTimeout(() => {
          throw new Error("loose");
        }),
    );
    await page.goto("about:blank");
    await page.evaluate(() => void fetch("http://127.0.0.1:1/", { mode: "no-cors" }).catch(() => {}));
    await eventually("a foreign request", () => wrongs.includes("a request to http://127.0.0.1:1"));
    await page.goto(`${reader.stack.url}/register`);
    await page
      .locator("label")
      .first()
      .evaluate((label) => label.remove());
    await assert.rejects(assertAccessible(page, "an input without its label"), /label/);
    await context.close();
  });

  world.test("the next page after sign-in is only ever one of ours", async (reader) => {
    const account = await world.account();
    await reader.signIn(account, "/sign-in?next=https://evil.example/");
    await reader.arrivesAt("/overview");
    // A reader who is signed in is redirected immediately, by the same rule.
    for (const next of ["//evil.example", "/v1/health", "/sign-in", "javascript:alert(1)", "/nowhere"]) {
      await reader.open(`/sign-in?next=${encodeURIComponent(next)}`);
      await reader.arrivesAt("/overview");
    }
    await reader.open("/sign-in?next=/settings");
    await reader.arrivesAt("/settings");
  });
}

function assertHeaders({ headers }, what) {
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(
    policy,
    /default-src 'none'; script-src 'self'; font-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'/,
    what,
  );
  assert.ok(!policy.includes("unsafe"), what);
  const expected = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "cross-origin-opener-policy": "same-origin",
  };
  for (const [name, value] of Object.entries(expected))
    assert.equal(headers.get(name), value, `${what}: ${name}`);
}
