// New recovery codes. They are shown once, so leaving the page before they are saved is asked about.
import { useEffect, useRef, useState } from "preact/hooks";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Copy } from "../../ui/copy";
import { Tick } from "../../ui/field";
import { Form, useSubmission } from "../../ui/form";
import css from "./two-factor.module.css";

interface RecoveryCodesProps {
  codes: string[];
  email: string;
  /** Whether they replace others; else they are the last step of turning two-factor on. */
  replaced: boolean;
  onKept: () => Promise<void>;
}

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
      <h3 class={css.step} ref={heading} tabIndex={-1}>
        {replaced ? "Save your new recovery codes" : "Step 3 of 3: save your recovery codes"}
      </h3>
      <p>
        {replaced ? "The old ones no longer work." : "Two-factor authentication is on."} If you lose your
        phone, each of these codes lets you in once. We won’t show them again, so keep them with your
        passwords.
      </p>
      <ol class={css.codes} data-part="recovery-codes">
        {codes.map((code) => (
          <li>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <Actions>
        <Button
          onClick={() => download(`Recovery codes of ${email} for rcpt\nEach works once.\n\n${text}\n`)}
        >
          Download
        </Button>
        <Copy text={text} what="Recovery codes" />
      </Actions>
      <Form
        submission={submission}
        check={() => ({ kept: kept ? undefined : "Tick the box once you’ve saved the codes." })}
        onMistakes={(found) => setMistake(found.kept)}
        label="Done"
        busyLabel="Finishing…"
      >
        <Tick
          name="kept"
          label="I’ve saved these codes"
          checked={kept}
          onChecked={setKept}
          required
          mistake={mistake}
        />
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
