// Builds the portal into dist/: one HTML file for every page of src/pages.ts, so that each loads directly, one
// script, and one style sheet. A few groups of pages are fetched when a page is opened.
//
// node build.mjs [FOLDER]     FOLDER replaces dist/
// PORTAL_API_URL  where the API is, when it is not on the portal's own origin
// PORTAL_URL      where the portal is; else as in wrangler.toml
// CONTACT_URL, CONTACT_EMAIL, TERMS_URL, STATUS_URL  the footer's links; else as in wrangler.toml; unset ones are
//                 absent
// PLAN_PRICES     prices of the plans, such as `pro=29 € a month; unlimited=On request`; else as in wrangler.toml
// TURNSTILE_SITE_KEY  public key of Turnstile's widget; else as in wrangler.toml; unset, no widget
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { appendFile, cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parse } from "smol-toml";
import { filterOf } from "./common-passwords.mjs";
import { writeReadable } from "./readable.mjs";
import { referenceHtml } from "./reference.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.resolve(process.argv[2] ?? path.join(here, "dist"));
const apiUrl = (process.env.PORTAL_API_URL ?? "").replace(/\/+$/, "");
const { vars } = parse(await readFile(path.join(here, "../../wrangler.toml"), "utf8"));
const site = (process.env.PORTAL_URL ?? vars.PORTAL_URL).replace(/\/+$/, "");

const PUBLISHED = ["CONTACT_URL", "CONTACT_EMAIL", "TERMS_URL", "STATUS_URL", "TURNSTILE_SITE_KEY"];
const published = (name) => process.env[name] ?? vars[name] ?? "";

/** The operator's text for each plan; a part that names no plan is a mistake. */
const prices = {};
for (const part of published("PLAN_PRICES")
  .split(";")
  .filter((part) => part.trim() !== "")) {
  const [, plan, price] = /^\s*([a-z]+)\s*=\s*(.+?)\s*$/.exec(part) ?? [];
  if (plan === undefined || plan in prices)
    throw new Error(`PLAN_PRICES: expected each plan once, = and its price, not ${part.trim()}`);
  prices[plan] = price;
}

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
await cp(path.join(here, "static"), dist, { recursive: true });

// Files that the Worker reads when it needs them.
const beside = path.join(dist, "v1");
await mkdir(beside);
const [description] = await Promise.all(["openapi.json", "openapi-account.json"].map(served));
const passwords = await readFile(path.join(here, "../data/common-passwords.txt"), "utf8");
await writeFile(path.join(beside, "common-passwords.bloom"), filterOf(passwords));

// The list's date, then one domain per line (edge/src/account/disposable_domains.rs).
const lists = path.join(here, "../../origin/data/lists/disposable.toml");
const { disposable } = parse(await readFile(lists, "utf8"));
await writeFile(
  path.join(beside, "disposable-domains.txt"),
  `${[disposable.date, ...disposable.names].join("\n")}\n`,
);

// The worker that reads lists, and the wasm of `clients/lists` and `clients/workbooks`, which it loads. The Makefile
// compiles the wasm.
const compiled = path.join(here, "../../target/lists");
const modules = {};
for (const name of ["lists", "workbooks"]) {
  const wasm = await readFile(path.join(compiled, `rcpt_${name}_bg.wasm`));
  const hash = createHash("sha256").update(wasm).digest("hex").slice(0, 8).toUpperCase();
  modules[`${name.toUpperCase()}_WASM`] = `/assets/${name}-${hash}.wasm`;
  await mkdir(path.join(dist, "assets"), { recursive: true });
  await writeFile(path.join(dist, modules[`${name.toUpperCase()}_WASM`]), wasm);
}
const reading = await build({
  absWorkingDir: here,
  entryPoints: ["src/lists/worker.ts"],
  outdir: dist,
  entryNames: "assets/lists-[hash]",
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  metafile: true,
  legalComments: "none",
  alias: {
    "rcpt-lists": path.join(compiled, "rcpt_lists.js"),
    "rcpt-workbooks": path.join(compiled, "rcpt_workbooks.js"),
  },
  define: defined(modules),
  // The modules' own URL, which isn't used: the worker passes theirs.
  logOverride: { "empty-import-meta": "silent" },
});
const [worker] = Object.keys(reading.metafile.outputs);

const ENTRY = "src/main.tsx";
// In the same build as the entry, so that both use the same names for style classes.
const PRERENDER = "src/prerender.tsx";
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: [ENTRY, PRERENDER],
  outdir: dist,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  assetNames: "assets/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  loader: { ".woff2": "file" },
  define: defined({
    API_URL: apiUrl,
    PRO_PRICE: prices.pro ?? "Price on request",
    LISTS_WORKER: `/assets/${path.basename(worker)}`,
    ...Object.fromEntries(PUBLISHED.map((name) => [name, published(name)])),
  }),
});

const outputs = Object.entries(metafile.outputs).map(([file, output]) => ({
  url: `/${path.relative(dist, path.resolve(here, file)).replaceAll("\\", "/")}`,
  file,
  ...output,
}));
const outputOf = (entry) => outputs.find((output) => output.entryPoint === entry);
const at = ({ url }) => path.join(dist, url);

// Node only loads the chunks as modules if a manifest says so.
const manifest = path.join(dist, "assets/package.json");
await writeFile(manifest, '{"type":"module"}');
const { PAGES, draw, isDrawn, readable, referenceTables, typeName } = await import(
  pathToFileURL(at(outputOf(PRERENDER)))
);
const read = [];
for (const page of PAGES.filter(({ description, access }) => description !== null && access === "anyone"))
  read.push({ ...page, html: await readable(page, site) });
const reference = referenceHtml(description, typeName, referenceTables(description));
await rm(manifest);
await rm(at(outputOf(PRERENDER)));

// The entry's sheet has the styles of all pages; esbuild also writes a sheet for each group.
const style = outputs.find(({ file }) => file === outputOf(ENTRY).cssBundle);
for (const sheet of outputs.filter((output) => output.url.endsWith(".css") && output !== style))
  await rm(at(sheet));

const template = await readFile(path.join(here, "page.html"), "utf8");
for (const page of PAGES) {
  const values = {
    title: page.title,
    name: page.name,
    search: searchTags(page),
    font: outputs.find(({ url }) => url.includes("/geist-latin")).url,
    style: style.url,
    script: outputOf(ENTRY).url,
    preloads: preloadsOf(page),
    drawn: isDrawn(page) ? " data-drawn" : "",
    content: withReference(page, draw(page, site)),
  };
  const html = template.replace(/\{\{(\w+)\}\}/g, (_, key) => values[key]);
  const file = path.join(dist, fileOf(page));
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, html);
}

const contact = published("CONTACT_URL") || published("CONTACT_EMAIL");
await writeReadable(dist, { site, contact, pages: read, reference });

const listed = PAGES.filter(({ description }) => description !== null).map((page) => site + page.path);
await writeFile(
  path.join(dist, "sitemap.xml"),
  `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${listed.map((url) => `<url><loc>${url}</loc></url>`).join("\n")}
</urlset>
`,
);
await appendFile(path.join(dist, "robots.txt"), `Sitemap: ${site}/sitemap.xml\n`);

const headers = path.join(dist, "_headers");
const usesTurnstile = published("TURNSTILE_SITE_KEY") !== "";
const TURNSTILE = "https://challenges.cloudflare.com";
const allowed = {
  api: apiUrl === "" ? "" : ` ${new URL(apiUrl).origin}`,
  script: usesTurnstile ? ` ${TURNSTILE}` : "",
  frame: usesTurnstile ? `; frame-src ${TURNSTILE}` : "",
  policy: usesTurnstile ? " rcpt-turnstile" : "",
};
const policy = await readFile(headers, "utf8");
await writeFile(
  headers,
  policy.replace(/\{\{(\w+)\}\}/g, (_, key) => allowed[key]),
);

/** Writes a description that the Worker serves, with an absolute server: a downloaded copy still names it. */
async function served(name) {
  const document = JSON.parse(await readFile(path.join(here, "..", name), "utf8"));
  document.servers[0].url = apiUrl || site;
  await writeFile(path.join(beside, name), JSON.stringify(document));
  return document;
}

/** Adds the API reference to its page, for readers without JavaScript. */
function withReference({ name }, content) {
  if (name !== "docs") return content;
  return content.replace(/<noscript>.*<\/noscript>/s, () => `<noscript>${reference}</noscript>`);
}

/** Tags of a page for search engines and link previews. */
function searchTags({ path: served, title, description }) {
  if (description === null) return '<meta name="robots" content="noindex">';
  const tags = {
    "og:type": "website",
    "og:site_name": "rcpt",
    "og:title": title,
    "og:description": description,
    "og:url": site + served,
    "og:image": `${site}/card.png`,
    "og:image:width": "1200",
    "og:image:height": "630",
    "og:image:alt": "rcpt: can this address receive mail?",
  };
  return [
    '<meta name="robots" content="index">',
    `<meta name="description" content="${description}">`,
    `<link rel="canonical" href="${site}${served}">`,
    `<link rel="alternate" type="text/markdown" href="${site}${served === "/" ? "/index" : served}.md">`,
    ...Object.entries(tags).map(([name, value]) => `<meta property="${name}" content="${value}">`),
    '<meta name="twitter:card" content="summary_large_image">',
  ].join("\n");
}

/**
 * Returns tags that preload a page's modules, except the entry, in parallel.
 */
function preloadsOf({ file }) {
  const wanted = new Set();
  const follow = (output) => {
    if (wanted.has(output.url)) return;
    wanted.add(output.url);
    for (const { path: imported, kind } of output.imports) {
      if (kind === "import-statement") follow(outputs.find((other) => other.file === imported));
    }
  };
  follow(outputOf(ENTRY));
  const own = outputOf(`src/pages/${file}.ts`) ?? outputOf(`src/pages/${file}.tsx`);
  if (own !== undefined) follow(own);
  wanted.delete(outputOf(ENTRY).url);
  return [...wanted].map((url) => `<link rel="modulepreload" href="${url}">`).join("\n");
}

/**
 * Returns the file of a page: assets are served without `.html`, and unknown paths get 404.html.
 */
function fileOf({ path: served }) {
  if (served === null) return "404.html";
  return served === "/" ? "index.html" : `${served.slice(1)}.html`;
}

function defined(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]));
}
