// Builds the portal into dist/: one HTML file for every page of pages.json, so that each loads directly,
// one script with a chunk for each large page, and one style sheet.
//
// node build.mjs [FOLDER]     instead of dist/
// PORTAL_API_URL  where the API is, when it is not on the portal's own origin
import { build } from "esbuild";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.resolve(process.argv[2] ?? path.join(here, "dist"));
const apiUrl = (process.env.PORTAL_API_URL ?? "").replace(/\/+$/, "");

await rm(dist, { recursive: true, force: true });
await mkdir(dist, { recursive: true });
await cp(path.join(here, "static"), dist, { recursive: true });

const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx", "src/style/main.css"],
  outdir: dist,
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  define: { API_URL: JSON.stringify(apiUrl) },
});

const outputs = Object.entries(metafile.outputs).map(([file, output]) => ({
  url: `/${path.relative(dist, path.resolve(here, file)).replaceAll("\\", "/")}`,
  file,
  ...output,
}));
const outputOf = (entry) => outputs.find((output) => output.entryPoint === entry);

// What a page needs beside the entry, so that the browser fetches it without waiting for the entry.
function preloadsOf(name) {
  const wanted = new Set();
  const follow = (output) => {
    if (wanted.has(output.url)) return;
    wanted.add(output.url);
    for (const { path: file, kind } of output.imports) {
      if (kind === "import-statement") follow(outputs.find((other) => other.file === file));
    }
  };
  follow(outputOf("src/main.tsx"));
  const own = outputOf(`src/pages/${name}.tsx`);
  if (own !== undefined) follow(own);
  wanted.delete(outputOf("src/main.tsx").url);
  return [...wanted].map((url) => `<link rel="modulepreload" href="${url}">`).join("\n");
}

const template = await readFile(path.join(here, "page.html"), "utf8");
const pages = JSON.parse(await readFile(path.join(here, "pages.json"), "utf8"));
for (const page of pages) {
  const values = {
    title: page.title,
    name: page.name,
    robots: page.indexed ? "index" : "noindex",
    style: outputOf("src/style/main.css").url,
    script: outputOf("src/main.tsx").url,
    preloads: preloadsOf(page.name),
    api: apiUrl,
  };
  const html = template.replace(/\{\{(\w+)\}\}/g, (_, key) => values[key]);
  await writeFile(path.join(dist, fileOf(page)), html);
}

// Assets are served without their `.html`; the platform serves 404.html for what it does not know.
function fileOf({ path: served }) {
  if (served === null) return "404.html";
  return served === "/" ? "index.html" : `${served.slice(1)}.html`;
}

const headers = path.join(dist, "_headers");
const api = apiUrl === "" ? "" : ` ${new URL(apiUrl).origin}`;
await writeFile(headers, (await readFile(headers, "utf8")).replace("{{api}}", api));
