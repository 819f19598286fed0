import { useEffect, useState } from "preact/hooks";
import { call } from "../api/client";
import { useSession } from "../session";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { type Document, byTag } from "./docs/document";
import { Basics } from "./docs/basics";
import { EndpointSection } from "./docs/endpoint";
import { LANGUAGES, type Language } from "./docs/examples";

export default function Docs() {
  const description = useResource(
    async () => (await call("get", "/v1/openapi.json", "anyone")) as unknown as Document,
  );
  return (
    <Page
      title="API reference"
      lead="Every operation of the service, as it describes itself. Requests and answers are JSON; times are UTC."
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
  const [keyShown, setKeyShown] = useState(true);
  const tags = byTag(description);
  useEffect(() => {
    // The browser looked for the target before it was there.
    if (location.hash !== "") document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  return (
    <div class="reference">
      <nav class="contents" aria-label="Operations" data-open={open}>
        <button type="button" class="contents-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>
          All operations
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
      <div class="operations">
        <div class="reference-key">
          {apiKey === undefined ? (
            <p>
              <a href="/sign-in?next=/docs">Sign in</a> to see the examples with your own API key.
            </p>
          ) : (
            <label class="tick">
              <input
                type="checkbox"
                checked={keyShown}
                onChange={(event) => setKeyShown(event.currentTarget.checked)}
              />
              Show my API key in the examples
            </label>
          )}
        </div>
        <Basics />
        {tags.map(([tag, endpoints]) => (
          <section class="tag" aria-labelledby={`tag-${tag}`}>
            <h2 id={`tag-${tag}`}>{tag}</h2>
            {endpoints.map((endpoint) => (
              <EndpointSection
                key={endpoint.operation.operationId}
                document={description}
                endpoint={endpoint}
                apiKey={apiKey}
                keyShown={keyShown}
                language={language}
                onLanguage={setLanguage}
              />
            ))}
          </section>
        ))}
      </div>
    </div>
  );
}
