// Three real results compared: a code alone doesn't say if a mailbox exists.
import type { ValidationResult } from "../../api/details";
import { Mark } from "../../ui/mark";
import { explain, replyOf } from "../../words/verdicts";
import page from "../home.module.css";
import css from "./comparison.module.css";
import { RECORDED } from "./recorded";

const SHOWN = [
  {
    email: "rejects@sandbox.test",
    meaning: "The server speaks about the mailbox: it isn’t there. This is a no.",
  },
  {
    email: "blocked+demo@sandbox.test",
    meaning: "The server speaks about us, with the same 550. Some services call this address invalid.",
  },
  {
    email: "greylisted+demo@sandbox.test",
    meaning: "The server asks us to come back later. The mailbox may well be fine.",
  },
];

export function Comparison() {
  return (
    <section class={page.section} aria-labelledby="why">
      <div class={page.sectionHead}>
        <h2 id="why">A closed door isn’t a missing mailbox</h2>
        <p>
          A “no” always comes from the mailbox’s own server. If a server blocks, greylists or rate-limits us,
          we say exactly that, so you never delete a good contact.
        </p>
      </div>
      <ul class={css.answers}>
        {SHOWN.map(({ email, meaning }) => (
          <Answer result={RECORDED.find((result) => result.email === email)} meaning={meaning} />
        ))}
      </ul>
    </section>
  );
}

function Answer({ result, meaning }: { result: ValidationResult | undefined; meaning: string }) {
  if (result === undefined) return null;
  const { tone, title } = explain(result);
  return (
    <li class={css.answer}>
      <p class={css.reply}>{result.details && replyOf(result.details)}</p>
      <p>{meaning}</p>
      <p class={css.outcome}>
        <Mark tone={tone} small />
        <strong>{title}</strong>
      </p>
      <code class={css.status}>"status": {JSON.stringify(result.status)}</code>
    </li>
  );
}
