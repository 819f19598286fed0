// Quick start: from no account to a first verdict.
import { Code } from "../../ui/code";
import { ExampleBox } from "../../ui/example-box";
import { NO_KEY, masked } from "../../ui/key-box";
import css from "../docs.module.css";
import { CHECK } from "../../words/examples";
import { RECORDED } from "../home/recorded";
import { type Chosen } from "./endpoint";

export function QuickStart({ member, apiKey, keyShown, language, onLanguage }: Chosen) {
  const [{ email, verdict, status, cached }] = RECORDED;
  return (
    <section class={css.tag} aria-labelledby="quick-start">
      <h2 id="quick-start">Quick start</h2>
      <div class={css.endpoint}>
        <ol class={css.steps}>
          {!member && (
            <li>
              New here? Read <a href="/start">from zero to a verdict in five minutes</a>.
            </li>
          )}
          {!member ? (
            <li>
              <a href="/register">Create a free account</a> and confirm your email address.
            </li>
          ) : (
            <li>
              Your account is ready. Put <a href="/api-key">your API key</a> into the request.
            </li>
          )}
          <li>Run the request. Sandbox addresses always give the same verdict.</li>
          <li>
            Read <code>verdict</code>: <code>deliverable</code>, <code>undeliverable</code>,{" "}
            <code>risky</code> or <code>unknown</code>. <code>status</code> says why; the{" "}
            <a href="#statuses">table of statuses</a> says what to do with each.
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
          <Code caption="Response" text={JSON.stringify({ email, verdict, status, cached }, null, 2)} />
        </div>
      </div>
    </section>
  );
}
