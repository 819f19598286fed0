// The API reference, drawn from the service's own description of itself.
import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import { useSession } from "../session";
import { Tick } from "../ui/field";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import css from "./docs.module.css";
import { Basics } from "./docs/basics";
import { type Document, byTag } from "./docs/document";
import { EndpointSection } from "./docs/endpoint";
import { LANGUAGES, type Language } from "../words/examples";

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

function Reference({ document: description }: { document: Document }) {
  const apiKey = useSession()?.api_key;
  const [language, setLanguage] = useState<Language>(LANGUAGES[0]);
  // On a narrow window the list is as long as the window: it opens when asked for.
  const [open, setOpen] = useState(false);
  const [keyShown, setKeyShown] = useState(false);
  const tags = byTag(description);
  useEffect(() => {
    // The browser looked for the target before it was there.
    if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  const chosen = { apiKey, keyShown, language, onLanguage: setLanguage };
  return (
    <div class={css.reference}>
      <nav class={css.contents} aria-label="Operations" data-open={open}>
        <button type="button" class={css.toggle} aria-expanded={open} onClick={() => setOpen(!open)}>
          All endpoints
        </button>
        <div>
          <h2>Basics</h2>
          <ul onClick={() => setOpen(false)}>
            <li>
              <a href="#authentication">Authentication</a>
            </li>
            <li>
              <a href="#errors">Errors</a>
            </li>
            <li>
              <a href="#limits">Limits</a>
            </li>
          </ul>
        </div>
        {tags.map(([tag, endpoints]) => (
          <div>
            <h2>{tag}</h2>
            <ul onClick={() => setOpen(false)}>
              {endpoints.map(({ operation }) => (
                <li>
                  <a href={`#${operation.operationId}`}>{operation.summary}</a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <div class={css.operations}>
        {apiKey === undefined ? (
          <p>
            <a href="/sign-in?next=/docs">Sign in</a> to copy the examples with your own API key.
          </p>
        ) : (
          <Tick
            name="key-shown"
            label="Show my API key in the examples"
            checked={keyShown}
            onChecked={setKeyShown}
          />
        )}
        <Basics />
        {tags.map(([tag, endpoints]) => (
          <section class={css.tag} aria-labelledby={`tag-${tag}`}>
            <h2 id={`tag-${tag}`}>{tag}</h2>
            {endpoints.map((endpoint) => (
              <EndpointSection
                key={endpoint.operation.operationId}
                document={description}
                endpoint={endpoint}
                chosen={chosen}
              />
            ))}
          </section>
        ))}
      </div>
    </div>
  );
}
