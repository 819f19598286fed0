// The first request in each language, and its response.
import { Code } from "../../ui/code";
import { ExampleBox } from "../../ui/example-box";
import { CHECK } from "../../words/examples";
import { useLanguage } from "../../words/language";
import page from "../home.module.css";
import css from "./quick-start.module.css";
import { RECORDED } from "./recorded";

export function QuickStart() {
  const [language, setLanguage] = useLanguage();
  const [first] = RECORDED;
  return (
    <section class={page.section} aria-labelledby="code">
      <div class={page.sectionHead}>
        <h2 id="code">One request, one answer</h2>
        <p>
          A JSON API with one endpoint to learn. Sandbox addresses always give the same verdict, like a
          payment provider’s test cards. <a href="/docs">Read the API reference</a>.
        </p>
      </div>
      <div class={css.panes}>
        <ExampleBox
          id="start"
          example={{
            ...CHECK,
            base: API_URL || location.origin,
            credential: { header: "X-API-Key", value: "rcpt_live_…" },
            body: { email: first.email },
          }}
          shownKey={undefined}
          language={language}
          onLanguage={setLanguage}
        />
        <Code
          caption="Response"
          text={JSON.stringify(
            { email: first.email, verdict: first.verdict, status: first.status, cached: false },
            null,
            2,
          )}
        />
      </div>
    </section>
  );
}
