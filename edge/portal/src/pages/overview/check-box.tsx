// Checks one address, always with the reason.
import { useRef, useState } from "preact/hooks";
import { call } from "../../api/client";
import type { ValidationResult } from "../../api/details";
import { Spinner } from "../../ui/button";
import { Field } from "../../ui/field";
import { LineForm, type Mistakes, useSubmission } from "../../ui/form";
import { NeedMore } from "../../ui/need-more";
import { checkMistake, trimmed } from "../../words/addresses";
import css from "./check-box.module.css";
import { remember } from "./checked";
import { Verdict } from "../../ui/verdict";

/** Sandbox addresses, each with its own verdict. */
const SAMPLES = [
  "accepts@sandbox.test",
  "rejects@sandbox.test",
  "full@sandbox.test",
  "greylisted@sandbox.test",
  "x@nodomain.test",
];

const REFUSED = "This isn’t one email address. Enter it alone, as in name@domain.com.";

export function CheckBox({ onCounted }: { onCounted: () => void }) {
  const [email, setEmail] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [result, setResult] = useState<ValidationResult>();
  /** The value of `email`, current even before the next render. */
  const latest = useRef("");
  function type(text: string) {
    latest.current = text;
    setEmail(text);
  }
  /** The address as sent, shown next to the result. */
  const sent = useRef("");
  const submission = useSubmission(async () => {
    setResult(undefined);
    sent.current = trimmed(latest.current);
    const body = { email: sent.current, details: true };
    const checked = await call("post", "/v1/validate_email", "session", body);
    setResult(checked);
    remember(checked);
    onCounted();
  });
  const { problem, busy } = submission;
  // For the body sent above, a 400 is about the address, so its field shows the error.
  const refused = problem?.cause.kind === "refused" && problem.cause.status === 400 ? problem : undefined;

  return (
    <>
      <LineForm
        submission={refused === undefined ? submission : { ...submission, problem: undefined }}
        check={() => ({ email: checkMistake(email) })}
        onMistakes={(found) => {
          setMistakes(found);
          if (found.email !== undefined) setResult(undefined);
        }}
        label="Check"
        busyLabel="Checking…"
        field={(button) => (
          <Field
            label="Email address"
            name="address"
            autocomplete="off"
            inputMode="email"
            placeholder="name@domain.com"
            value={email}
            onValue={type}
            mistake={mistakes.email ?? (refused && REFUSED)}
            beside={button}
          />
        )}
      />
      {problem?.cause.kind === "limit" && <NeedMore />}
      <div aria-live="polite" aria-busy={busy}>
        {busy && (
          <p class={css.asking}>
            <Spinner />
            Asking the mail server. A slow one can take up to ten seconds.
          </p>
        )}
        {result !== undefined && !busy && (
          <Verdict
            result={result}
            sent={sent.current}
            onSuggestion={(suggestion) => {
              type(suggestion);
              setResult(undefined);
            }}
          />
        )}
      </div>
      <Samples
        onChosen={(sample) => {
          type(sample);
          setMistakes({});
          void submission.run();
        }}
      />
    </>
  );
}

function Samples({ onChosen }: { onChosen: (address: string) => void }) {
  return (
    <div class={css.samples}>
      <span class="quiet" id="samples">
        Or check a <a href="/sandbox">sandbox address</a>. Each always gives the same verdict:
      </span>
      <ul aria-labelledby="samples">
        {SAMPLES.map((sample) => (
          <li>
            <button type="button" class={css.chip} onClick={() => onChosen(sample)}>
              {sample}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
