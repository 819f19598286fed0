// The API reference: how to start, then every operation, generated from the API description.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import { useSession } from "../session";
import { Tick } from "../ui/field";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { useLanguage } from "../words/language";
import css from "./docs.module.css";
import { Basics } from "./docs/basics";
import { type Document, type Endpoint } from "./docs/document";
import { type Chosen, EndpointSection } from "./docs/endpoint";
import { inOrder } from "./docs/order";
import { QuickStart } from "./docs/quick-start";
import { ErrorCodes, Reasons, Statuses } from "./docs/tables";

export { Sandbox } from "./docs/sandbox";
export { Start } from "./docs/start";
export { Webhooks } from "./docs/webhooks";

export default function Docs() {
  const description = useResource(
    async () => (await call("get", "/v1/openapi.json", "anyone")) as unknown as Document,
  );
  return (
    <Page
      title="API reference"
      lead="Every endpoint of the rcpt API. Requests and responses are JSON, and times are UTC."
    >
      <Loaded resource={description} skeleton={["line", "block", "block"]} what="the reference">
        {(document) => <Reference document={document} />}
      </Loaded>
    </Page>
  );
}

/**
 * Least width for showing the list next to the text; in narrower windows, sections start folded.
 */
const WIDE = "(min-width: 62rem)";

function Reference({ document: description }: { document: Document }) {
  const session = useSession();
  const apiKey = session?.api_key;
  const member = session !== undefined;
  const [language, setLanguage] = useLanguage();
  const [keyShown, setKeyShown] = useState(false);
  const [wide] = useState(() => matchMedia(WIDE).matches);
  const { first, others } = inOrder(description);
  useEffect(() => {
    // The browser looked for the link's target before this content existed.
    if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  const chosen: Chosen = { member, apiKey, keyShown, language, onLanguage: setLanguage };
  const section = ([tag, endpoints]: [string, Endpoint[]], open: boolean) => (
    <section class={css.tag} aria-labelledby={`tag-${tag}`}>
      <h2 id={`tag-${tag}`}>{TITLES[tag] ?? tag}</h2>
      <div>
        {endpoints.map((endpoint) => (
          <EndpointSection
            key={endpoint.operation.operationId}
            document={description}
            endpoint={endpoint}
            chosen={chosen}
            open={open}
          />
        ))}
        {tag === "Validation" && (
          <>
            <Statuses />
            <Reasons document={description} open={wide} />
          </>
        )}
      </div>
    </section>
  );
  return (
    <div class={css.reference}>
      <Contents first={first} others={others} />
      <div class={css.operations}>
        <QuickStart {...chosen} />
        {apiKey === undefined ? (
          <p>
            {member ? <a href="/api-key">Show your API key</a> : <a href="/sign-in?next=/docs">Sign in</a>} to
            have it in the examples when you copy them.
          </p>
        ) : (
          <Tick
            name="key-shown"
            label="Show my API key in the examples"
            checked={keyShown}
            onChecked={setKeyShown}
          />
        )}
        {first.map((tagged) => section(tagged, wide))}
        <Basics>
          <ErrorCodes document={description} open={wide} />
        </Basics>
        {others.map((tagged) => section(tagged, false))}
      </div>
    </div>
  );
}

/** Titles of tags that readers know under another name. */
const TITLES: Record<string, string> = { Validation: "Checking" };

type Tagged = [string, Endpoint[]][];

function Contents({ first, others }: { first: Tagged; others: Tagged }) {
  // In a narrow window the list would fill the screen, so it opens on request.
  const [open, setOpen] = useState(false);
  const group = (title: string, links: [string, string][]) => (
    <div>
      <h2>{title}</h2>
      <ul onClick={() => setOpen(false)}>
        {links.map(([id, text]) => (
          <li>
            <a href={id.includes("/") ? id : `#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </div>
  );
  const linksOf = (endpoints: Endpoint[]) =>
    endpoints.map(({ operation: { operationId, summary } }): [string, string] => [
      operationId,
      summary ?? operationId,
    ]);
  return (
    <nav class={css.contents} aria-label="Operations" data-open={open}>
      <button type="button" class={css.toggle} aria-expanded={open} onClick={() => setOpen(!open)}>
        All endpoints
      </button>
      {group("Start", [
        ["quick-start", "Quick start"],
        ["/start", "From zero to a verdict"],
        ["/sandbox", "Sandbox addresses"],
        ["/webhooks", "Webhooks"],
        [`${API_URL}/v1/openapi.json`, "OpenAPI"],
      ])}
      {first.map(([tag, endpoints]) =>
        group(TITLES[tag] ?? tag, [...linksOf(endpoints), ...(tag === "Validation" ? TABLES : [])]),
      )}
      {group("Basics", [
        ["authentication", "Authentication"],
        ["errors", "Errors"],
        ["error-codes", "Error codes"],
        ["limits", "Limits"],
        ["repeating", "Repeating"],
      ])}
      {others.map(([tag, endpoints]) => group(tag, linksOf(endpoints)))}
    </nav>
  );
}

const TABLES: [string, string][] = [
  ["statuses", "Statuses"],
  ["reasons", "Reasons"],
];
