// Replays recorded answers, so that visitors see real ones and nobody probes mail servers without an account.
import { useState } from "preact/hooks";
import type { ValidationResult } from "../../api/details";
import { Verdict } from "../../ui/verdict";
import { replyOf } from "../../words/verdicts";
import { RECORDED } from "./recorded";
import css from "./try-it.module.css";

/** What each recorded server does, by the reason that came of it. */
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
  const [chosen, setChosen] = useState<ValidationResult>(RECORDED[0]);
  return (
    <section class={css.card} aria-labelledby="try">
      <div class={css.head}>
        <h2 id="try">Try it</h2>
        <p class="quiet">Recorded answers of our sandbox</p>
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
      <div class={css.result} aria-live="polite">
        <Transcript result={chosen} />
        <Verdict result={chosen} />
      </div>
    </section>
  );
}

/** The question that decided, and what came back. */
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
