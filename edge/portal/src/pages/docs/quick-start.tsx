// From nothing to a first verdict.
import { Code } from "../../ui/code";
import { ExampleBox } from "../../ui/example-box";
import { masked } from "../../ui/key-box";
import css from "../docs.module.css";
import { CHECK } from "../../words/examples";
import { RECORDED } from "../home/recorded";
import { type Chosen, NO_KEY } from "./endpoint";

export function QuickStart({ apiKey, keyShown, language, onLanguage }: Chosen) {
  const [{ email, status, cached }] = RECORDED;
  return (
    <section class={css.tag} aria-labelledby="quick-start">
      <h2 id="quick-start">Quick start</h2>
      <div class={css.endpoint}>
        <ol class={css.steps}>
          {apiKey === undefined && (
            <li>
              New here? Read <a href="/start">from zero to a verdict in five minutes</a>.
            </li>
          )}
          {apiKey === undefined ? (
            <li>
              <a href="/register">Create a free account</a> and confirm your email address.
            </li>
          ) : (
            <li>
              Your account is ready. The examples here copy with <a href="/api-key">your API key</a>.
            </li>
          )}
          <li>Run the request. Sandbox addresses always give the same verdict.</li>
          <li>
            Read <code>status</code>: <code>true</code>, <code>false</code>, or a word that says why it can’t
            be known. Compare it with <code>true</code>; a word counts as true in most languages.
          </li>
          <li>
            Add <code>"details": true</code> to learn <a href="#reasons">the reason</a>. It costs nothing
            extra.
          </li>
        </ol>
        <div class={css.code}>
          <ExampleBox
            id="quick"
            example={{
              ...CHECK,
              base: API_URL || location.origin,
              credential: { header: "X-API-Key", value: apiKey ?? NO_KEY },
              body: { email },
            }}
            shownKey={apiKey !== undefined && !keyShown ? masked(apiKey) : undefined}
            language={language}
            onLanguage={onLanguage}
          />
          <Code caption="Response" text={JSON.stringify({ email, status, cached }, null, 2)} />
        </div>
      </div>
    </section>
  );
}
