// Writes texts for programs: every public page, including the API reference, as Markdown (such as `/start.md`). Also
// writes an index for language models (`/llms.txt`), and `/.well-known/security.txt`.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import TurndownService from "turndown";
import { tables } from "turndown-plugin-gfm";

/** Writes all texts to `dist`; `contact` is a URL or email, `pages` have `path`, `title`, `description` and `html`. */
export async function writeReadable(dist, { site, contact, pages, reference }) {
  const markdown = converter();
  const listed = [];
  for (const page of pages) {
    const html = page.path === "/docs" ? reference : page.html;
    if (html === null) continue;
    const file = page.path === "/" ? "/index.md" : `${page.path}.md`;
    const text = markdown.turndown(html).replace(/\]\(\//g, `](${site}/`);
    const title = text.startsWith("# ") ? "" : `# ${page.title}\n\n`;
    await writeFile(path.join(dist, file), `${title}${text}\n`);
    listed.push(`- [${page.title}](${site}${file}): ${page.description}`);
  }
  await writeFile(path.join(dist, "llms.txt"), index(site, listed));
  await mkdir(path.join(dist, ".well-known"), { recursive: true });
  if (contact) await writeFile(path.join(dist, ".well-known/security.txt"), securityText(site, contact));
}

/** Returns the index for language models (https://llmstxt.org). */
function index(site, listed) {
  return `# rcpt

> rcpt tells whether an email address can receive mail. It asks the domain's mail server, and sends nothing.

- One request: \`POST ${site}/v1/validate_email\` with the header \`X-API-Key\` and the body \`{"email": "ann@example.org"}\`.
- \`verdict\` is \`deliverable\`, \`undeliverable\`, \`risky\` (accepted, but the server may accept every name) or \`unknown\`.
- \`status\` says why. It is \`true\`, \`false\` or a string. \`false\`, \`invalid_format\`, \`domain_not_found\` and \`no_mx_records\` mean that the
  address can't receive mail. \`smtp_connect_error\`, \`smtp_timeout\` and \`blocked_by_provider\` say nothing about the mailbox: accept
  the address, or check it again later. \`fatal_exception\`: check again. A non-empty string is true in many languages: compare with \`true\`.
- Call it from a server: there is no CORS for other sites, and the key is a secret. With a key, about 2,000 checks in ten seconds.
- Errors have \`detail\`, \`code\` and \`doc_url\`. 429 and 503 have \`Retry-After\`; \`RateLimit\` says what is left. Send an \`Idempotency-Key\`
  to repeat a request that is counted once.
- Addresses of \`sandbox.test\` always get the same answer: \`accepts@sandbox.test\`, \`rejects@sandbox.test\`, \`greylisted@sandbox.test\`.

## Pages

${listed.join("\n")}

## For programs

- [OpenAPI 3.1 description](${site}/v1/openapi.json): every operation that a program calls, with its members and errors
- [Contact and plans](${site}/v1/site): whom to ask, and what each plan allows
`;
}

const YEAR_MS = 365 * 24 * 3600 * 1000;

/** Returns the security.txt (RFC 9116). */
function securityText(site, contact) {
  const uri = contact.includes("://") ? contact : `mailto:${contact}`;
  const expires = new Date(Date.now() + YEAR_MS).toISOString().slice(0, 10);
  return `Contact: ${uri}
Expires: ${expires}T00:00:00Z
Preferred-Languages: en
Canonical: ${site}/.well-known/security.txt
`;
}

function converter() {
  const service = new TurndownService({
    headingStyle: "atx",
    codeBlockStyle: "fenced",
    bulletListMarker: "-",
  });
  service.use(tables);
  // An underscore within a word isn't emphasis: paths and codes stay unchanged.
  const { escape } = service;
  service.escape = (text) => escape.call(service, text).replace(/(?<=\w)\\_(?=\w)/g, "_");
  service.remove([
    "script",
    "style",
    "noscript",
    "button",
    "svg",
    "input",
    "select",
    "form",
    "nav",
    "footer",
  ]);
  return service;
}
