// Shows recorded responses: visitors see real ones, but mail servers are only contacted for
// accounts.
import { useState } from "preact/hooks";
import type { ValidationResult } from "../../api/details";
import { useSession } from "../../session";
import { Verdict } from "../../ui/verdict";
import { replyOf } from "../../words/verdicts";
import { RECORDED } from "./recorded";
import css from "./try-it.module.css";

/** Behaviour of each recorded server, by the reason in its verdict. */
const LABELS: Record<string, string> = {
  accepted: "Accepts",
  no_such_mailbox: "No such mailbox",
  mailbox_full: "Mailbox full",
  blocked: "Blocks us",
  greylisted: "Greylists us",
  accepted_catch_all: "Accepts everything",
  domain_not_found: "No such domain",
};

export function TryIt() {
  const member = useSession() !== undefined;
  const [chosen, setChosen] = useState<ValidationResult>(RECORDED[0]);
  return (
    <section class={css.card} aria-labelledby="try">
      <div class={css.head}>
        <h2 id="try">Try it</h2>
        <p class="quiet">Recorded responses from our sandbox</p>
      </div>
      <ul class={css.choices} aria-label="What the mail server does">
        {RECORDED.map((result) => (
          <li>
            <button
              type="button"
              class={css.choice}
              aria-pressed={result === chosen}
              onClick={() => setChosen(result)}
            >
              {LABELS[result.details?.reason ?? ""] ?? result.email}
            </button>
          </li>
        ))}
      </ul>
      <p class={css.yours}>
        {member ? (
          <a href="/overview">Check an address of your own</a>
        ) : (
          <>
            <a href="/register">Sign up free</a> to check an address of your own.
          </>
        )}
      </p>
      <div class={css.result} aria-live="polite">
        <Transcript result={chosen} />
        <Verdict result={chosen} />
      </div>
    </section>
  );
}

/** Draws the deciding command and its reply. */
function Transcript({ result }: { result: ValidationResult }) {
  const { email, details } = result;
  const reply = details && replyOf(details);
  const question =
    reply === undefined ? `MX ${email.slice(email.lastIndexOf("@") + 1)}?` : `RCPT TO:<${email}>`;
  return (
    <dl class={css.transcript}>
      <div>
        <dt>
          <span aria-hidden="true">→</span>
          <span class="visually-hidden">We ask</span>
        </dt>
        <dd>{question}</dd>
      </div>
      <div>
        <dt>
          <span aria-hidden="true">←</span>
          <span class="visually-hidden">The server says</span>
        </dt>
        <dd>{reply ?? "NXDOMAIN"}</dd>
      </div>
    </dl>
  );
}
