// From no account to a first verdict, step by step.
import { FREE } from "../../plans";
import { useSession } from "../../session";
import { Code } from "../../ui/code";
import { ExampleBox } from "../../ui/example-box";
import { NO_KEY, masked } from "../../ui/key-box";
import { Page } from "../../ui/page";
import { CHECK } from "../../words/examples";
import { useLanguage } from "../../words/language";
import css from "../docs.module.css";
import { RECORDED } from "../home/recorded";

export function Start() {
  const session = useSession();
  const apiKey = session?.api_key;
  const [language, setLanguage] = useLanguage();
  const [{ email, verdict, status, cached }] = RECORDED;
  return (
    <Page
      title="From zero to a verdict in five minutes"
      lead="All you need is an email address and a terminal. It’s free, and you don’t need a card."
    >
      <section class={css.tag} aria-labelledby="account">
        <h2 id="account">1. Create your account</h2>
        {session === undefined ? (
          <p>
            <a href="/register">Create a free account</a> with your email address and a password. Then open
            the link in the email we send you. It signs you in.
          </p>
        ) : (
          <p>You’re signed in, so that’s done.</p>
        )}
        <p>
          You get {FREE.checksPerDay} checks every day, and {FREE.welcomeChecks} more to get started.
        </p>
      </section>
      <section class={css.tag} aria-labelledby="key">
        <h2 id="key">2. Copy your API key</h2>
        <p>
          You’ll find it on the <a href="/api-key">API key page</a>. Programs send it with every request, so
          keep it like a password.
        </p>
      </section>
      <section class={css.tag} aria-labelledby="ask">
        <h2 id="ask">3. Ask about an address</h2>
        <div class={css.endpoint}>
          <div class={css.text}>
            <p>
              Run this. Sandbox addresses always give the same verdict and reach no real server, but they
              count like others.
            </p>
            <p>
              <code>curl</code> is on most machines. The command and the packages for TypeScript and Python
              come with each release.
            </p>
          </div>
          <div class={css.code}>
            <ExampleBox
              id="first"
              example={{
                ...CHECK,
                base: API_URL || location.origin,
                credential: { header: "X-API-Key", value: apiKey ?? NO_KEY },
                body: { email },
              }}
              shownKey={apiKey === undefined ? undefined : masked(apiKey)}
              language={language}
              onLanguage={setLanguage}
            />
          </div>
        </div>
      </section>
      <section class={css.tag} aria-labelledby="read">
        <h2 id="read">4. Read the verdict</h2>
        <div class={css.endpoint}>
          <ul class={css.steps}>
            <li>
              <code>deliverable</code>: the mail server accepts the address, and refuses others.
            </li>
            <li>
              <code>undeliverable</code>: it can’t receive mail.
            </li>
            <li>
              <code>risky</code>: the server accepts the address, but perhaps every other one, too.
            </li>
            <li>
              <code>unknown</code>: it can’t be known, and the mailbox may well be fine.
            </li>
            <li>
              <code>status</code> says why, and the <a href="/docs#statuses">table of statuses</a> what to do.
              Compare it with <code>true</code>: most programming languages treat any text as true.
            </li>
          </ul>
          <div class={css.code}>
            <Code caption="Response" text={JSON.stringify({ email, verdict, status, cached }, null, 2)} />
          </div>
        </div>
      </section>
      <section class={css.tag} aria-labelledby="next">
        <h2 id="next">5. Where to go from here</h2>
        <ul class={css.steps}>
          <li>
            Add <code>"details": true</code> to learn <a href="/docs#reasons">the reason</a>.
          </li>
          <li>
            Send an <code>Idempotency-Key</code> with each check. A check that you repeat with its key is
            counted once.
          </li>
          <li>
            Check a whole list with <code>rcpt scan customers.csv</code>, or{" "}
            <a href="/docs#createScan">with a request</a>.
          </li>
          <li>
            Read <code>RateLimit</code> in the response to know how many checks are left.
          </li>
        </ul>
      </section>
    </Page>
  );
}
