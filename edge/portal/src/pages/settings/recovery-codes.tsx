// New recovery codes. The codes are shown once, so leaving the page before saving them needs a confirmation.
import { useEffect, useRef, useState } from "preact/hooks";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Copy } from "../../ui/copy";
import { download } from "../../ui/download";
import { Tick } from "../../ui/field";
import { Form, useSubmission } from "../../ui/form";
import { LeaveDialog, useLeaving } from "../../ui/leaving";
import css from "./two-factor.module.css";

interface RecoveryCodesProps {
  codes: string[];
  email: string;
  /**
   * True if the codes replace other codes; otherwise they are the last step of turning two-factor on.
   */
  replaced: boolean;
  onKept: () => Promise<void>;
}

export function RecoveryCodes({ codes, email, replaced, onKept }: RecoveryCodesProps) {
  const [kept, setKept] = useState(false);
  const [mistake, setMistake] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  const submission = useSubmission(onKept);
  const text = codes.join("\n");
  const file = `Recovery codes of ${email} for rcpt\nEach works once.\n\n${text}\n`;

  const leaving = useLeaving(!kept);
  useEffect(() => heading.current?.focus(), []);

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
        <Button onClick={() => download(new Blob([file], { type: "text/plain" }), "rcpt-recovery-codes.txt")}>
          Download
        </Button>
        <Copy text={text} what="Recovery codes" />
      </Actions>
      <LeaveDialog
        leaving={leaving}
        title="Leave without the recovery codes?"
        text="We won’t show them again. Without them, losing your phone locks you out of your account."
        label="Leave without them"
      />
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
