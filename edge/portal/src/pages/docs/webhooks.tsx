// Webhooks: the event, its headers, and how to verify it.
import { useState } from "preact/hooks";
import { Code } from "../../ui/code";
import { Page } from "../../ui/page";
import { EVENT, HEADERS, LISTEN, VERIFY } from "../../words/webhooks";
import css from "../docs.module.css";
import endpoint from "./endpoint.module.css";
import page from "../scans.module.css";

type Language = keyof typeof VERIFY;
const LANGUAGES = Object.keys(VERIFY) as Language[];

export function Webhooks() {
  return (
    <Page
      title="Webhooks"
      lead="When a scan ends or your daily checks run out, we tell your server: without any address."
    >
      <Event />
      <Verification />
      <Attempts />
      <OnYourMachine />
    </Page>
  );
}

function Event() {
  return (
    <section class={css.tag} aria-labelledby="event">
      <h2 id="event">The event</h2>
      <div class={css.endpoint}>
        <div class={css.text}>
          <p>
            Enter your server’s URL in the <a href="/settings/notifications#webhook">settings</a>. Events come
            as a POST of JSON in the form of <a href="https://www.standardwebhooks.com">Standard Webhooks</a>.
          </p>
          <p>
            <code>type</code> is <code>scan.completed</code>, or <code>scan.expired</code> where nothing was
            found out in time. A test is <code>webhook.test</code>, with empty <code>data</code>.
          </p>
          <p>
            <code>allowance.nearly_used</code> comes when 80 % of the daily checks are used, and{" "}
            <code>allowance.used_up</code> when all are. Each comes at most once a week, and not while welcome
            checks are left. Their <code>data</code> is <code>daily_allowance</code> and{" "}
            <code>used_today</code>.
          </p>
          <dl class={endpoint.fields}>
            {HEADERS.map(([name, means]) => (
              <div>
                <dt>
                  <code>{name}</code>
                </dt>
                <dd>{means}</dd>
              </div>
            ))}
          </dl>
        </div>
        <div class={css.code}>
          <Code caption="Body" text={JSON.stringify(EVENT, null, 2)} />
        </div>
      </div>
    </section>
  );
}

function Verification() {
  const [language, setLanguage] = useState<Language>("TypeScript");
  return (
    <section class={css.tag} aria-labelledby="verify">
      <h2 id="verify">Verify it</h2>
      <div class={css.endpoint}>
        <div class={css.text}>
          <p>
            Anyone can send requests to your server. The signature proves that an event is ours: it’s an HMAC
            (SHA-256) of id, timestamp and body under your webhook secret.
          </p>
          <p>
            Use the body as it came, before any parser has changed it. Libraries for Standard Webhooks work,
            too.
          </p>
          <p>
            Our packages do the same: <code>verifyWebhook</code> in TypeScript, <code>verify_webhook</code> in
            Python and Rust.
          </p>
          <label class={page.choice}>
            Language
            <select
              value={language}
              onChange={(event) =>
                setLanguage(LANGUAGES.find((name) => name === event.currentTarget.value) ?? language)
              }
            >
              {LANGUAGES.map((name) => (
                <option value={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
        <div class={css.code}>
          <Code caption={language} text={VERIFY[language]} />
        </div>
      </div>
    </section>
  );
}

function Attempts() {
  return (
    <section class={css.tag} aria-labelledby="attempts">
      <h2 id="attempts">Answers and attempts</h2>
      <ul class={css.steps}>
        <li>Any status of 2xx within five seconds ends the delivery. We don’t follow redirects.</li>
        <li>
          Otherwise we send it again after 5 minutes, then wait twice as long each time, and give up after a
          day.
        </li>
        <li>An event can come twice. Its webhook-id stays the same.</li>
        <li>
          Send a test and see the last deliveries in the{" "}
          <a href="/settings/notifications#webhook">settings</a>.
        </li>
        <li>Replace the secret there, too. For a day, both secrets sign.</li>
      </ul>
    </section>
  );
}

function OnYourMachine() {
  return (
    <section class={css.tag} aria-labelledby="local">
      <h2 id="local">Without a public server</h2>
      <div class={css.endpoint}>
        <div class={css.text}>
          <p>
            While you write your receiver, the <code>rcpt</code> command forwards the events of your account
            to it. It prints the secret that they’re signed with.
          </p>
          <p>
            <code>rcpt trigger</code> sends a made-up event and needs no scan.
          </p>
          <p>
            Programs that can’t be called read <a href="/docs#listEvents">the list of events</a> with the API
            key.
          </p>
        </div>
        <div class={css.code}>
          <Code caption="Terminal" text={LISTEN} />
        </div>
      </div>
    </section>
  );
}
