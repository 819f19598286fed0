import { useRef, useState } from "preact/hooks";
import { call } from "../../api/client";
import type { CheckRequest, ValidationResult } from "../../api/details";
import { isLocal } from "../../local";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { tell } from "../../words/problems";
import { Verdict } from "./verdict";

/** Of the local mail server, which gives each its own verdict. */
const SAMPLES = [
  "accepts@sandbox.test",
  "rejects@sandbox.test",
  "full@sandbox.test",
  "greylisted@sandbox.test",
  "x@nodomain.test",
];

/** Tries one address. */
export function CheckBox({ onCounted }: { onCounted: () => void }) {
  const [email, setEmail] = useState("");
  const [why, setWhy] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [result, setResult] = useState<ValidationResult>();
  /** Whether the check asked for the reason. */
  const [reasoned, setReasoned] = useState(false);
  const asked = useRef("");
  const submission = useSubmission(async () => {
    setResult(undefined);
    asked.current = email.trim();
    const request: CheckRequest = { email: asked.current, ...(why && { details: true }) };
    setResult(await call("post", "/v1/validate_email", "session", request));
    setReasoned(why);
    onCounted();
  });
  const { problem, busy } = submission;
  const malformed = problem?.cause.kind === "refused" && problem.cause.status === 400;

  return (
    <section class="card" aria-labelledby="check">
      <h2 id="check">Check an address</h2>
      <Form
        submission={submission}
        check={() => ({ email: email.trim() === "" ? "Enter the address to check." : undefined })}
        onMistakes={setMistakes}
        label="Check"
        busyLabel="Checking…"
        secondary={
          <label class="tick">
            <input
              type="checkbox"
              name="details"
              checked={why}
              onChange={(event) => setWhy(event.currentTarget.checked)}
            />
            Tell me why
          </label>
        }
      >
        <Field
          label="Email address"
          name="address"
          autocomplete="off"
          inputMode="email"
          value={email}
          onValue={setEmail}
          mistake={mistakes.email ?? (malformed ? tell(problem) : undefined)}
        />
        {isLocal() && (
          <div class="samples">
            <span class="quiet" id="samples">
              Sandbox addresses of this local installation:
            </span>
            <ul aria-labelledby="samples">
              {SAMPLES.map((sample) => (
                <li>
                  <button type="button" class="chip" onClick={() => setEmail(sample)}>
                    {sample}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )}
      </Form>
      <div aria-live="polite" aria-busy={busy}>
        {busy && (
          <p class="asking">
            <span class="spinner" aria-hidden="true" />
            Asking the mail server. This can take up to ten seconds when it is slow.
          </p>
        )}
        {result !== undefined && !busy && (
          <Verdict result={result} asked={asked.current} reasoned={reasoned} />
        )}
      </div>
    </section>
  );
}
