import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isLocal } from "../local";
import { Button } from "./button";
import type { Submission } from "./form";
import { Notice, ProblemNotice } from "./notice";

interface InboxProps {
  email: string;
  /** What the mail holds. */
  what: string;
  validity: string;
  /** Sends the mail once more. */
  submission: Submission;
  children?: ComponentChildren;
}

/** What to do until the mail comes, and when it does not. */
export function Inbox({ email, what, validity, submission, children }: InboxProps) {
  const [again, setAgain] = useState(0);
  async function resend() {
    await submission.run();
    setAgain(again + 1);
  }
  return (
    <>
      <p class="lead">
        We have sent a mail to <strong class="address">{email}</strong> with {what}. Open the link in it to go
        on.
      </p>
      <ul class="notes">
        <li>The link works once, for {validity}.</li>
        <li>
          Nothing there after a few minutes? Look into the spam folder, and check the address above for typing
          mistakes.
        </li>
        {isLocal() && (
          <li>
            This is a local installation: the mail is a file in <code>target/dev/mail/</code>, and its link
            was printed in the terminal of <code>make dev</code>.
          </li>
        )}
      </ul>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {again > 0 && !submission.busy && submission.problem === undefined && (
        <Notice tone="good">
          <p>Sent again. Only the newest link works.</p>
        </Notice>
      )}
      <div class="actions">
        <Button busy={submission.busy} busyLabel="Sending…" onClick={() => void resend()}>
          Send it again
        </Button>
        {children}
      </div>
    </>
  );
}
