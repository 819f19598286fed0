import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Copy } from "../../ui/copy";
import { Form, useSubmission } from "../../ui/form";

interface RecoveryCodesProps {
  codes: string[];
  email: string;
  /** Whether they replace others; else they are the last step of turning two-factor on. */
  replaced: boolean;
  onKept: () => Promise<void>;
}

/** Shown once: leaving the page before they are kept is asked about. */
export function RecoveryCodes({ codes, email, replaced, onKept }: RecoveryCodesProps) {
  const [kept, setKept] = useState(false);
  const [mistake, setMistake] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  const submission = useSubmission(onKept);
  const text = codes.join("\n");

  useEffect(() => {
    heading.current?.focus();
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, []);

  return (
    <>
      <h3 class="step" ref={heading} tabIndex={-1}>
        {replaced ? "Keep your new recovery codes" : "Step 3 of 3: keep your recovery codes"}
      </h3>
      <p>
        {replaced ? "The old ones no longer work." : "Two-factor authentication is on."} If you lose your
        phone, each of these codes lets you in once. They are shown only now: keep them where you keep your
        passwords.
      </p>
      <ol class="codes">
        {codes.map((code) => (
          <li>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <div class="actions">
        <Button
          onClick={() => download(`Recovery codes of ${email} for rcpt\nEach works once.\n\n${text}\n`)}
        >
          Download
        </Button>
        <Copy text={text} what="Recovery codes" />
      </div>
      <Form
        submission={submission}
        check={() => ({ kept: kept ? undefined : "Tick the box once you have kept the codes." })}
        onMistakes={(found) => setMistake(found.kept)}
        label="Done"
        busyLabel="Finishing…"
      >
        <div class="field">
          <label class="tick">
            <input
              type="checkbox"
              name="kept"
              checked={kept}
              required
              aria-invalid={mistake !== undefined ? "true" : undefined}
              aria-describedby={mistake !== undefined ? "kept-mistake" : undefined}
              onChange={(event) => setKept(event.currentTarget.checked)}
            />
            I have kept these codes in a safe place
          </label>
          {mistake !== undefined && (
            <p class="mistake" id="kept-mistake">
              {mistake}
            </p>
          )}
        </div>
      </Form>
    </>
  );
}

function download(text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = "rcpt-recovery-codes.txt";
  link.click();
  URL.revokeObjectURL(link.href);
}
