// A form that ends with an email: the form, then what to do until the email arrives.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isLocal } from "../local";
import { trimmed } from "../words/addresses";
import { Actions } from "./actions";
import { Button } from "./button";
import { Field } from "./field";
import { Form, type Mistakes, type Submission, useSubmission } from "./form";
import { Notice, ProblemNotice } from "./notice";
import { Aside, Lead, Notes, Page } from "./page";

interface MailFlowProps {
  title: string;
  lead: string;
  /** The address as it is typed. */
  email: string;
  onEmail: (email: string) => void;
  emailHint?: string;
  /** The address that was probably meant, for the reader to take over. */
  suggestion?: string | undefined;
  send: (email: string) => Promise<unknown>;
  check: () => Mistakes;
  /** Codes of problems that fields of `children` show. */
  shownAtField?: readonly string[];
  label: string;
  busyLabel: string;
  /** What is said once the email is on its way. */
  sent: (address: ComponentChildren) => ComponentChildren;
  validity: string;
  aside: ComponentChildren;
  /** The fields after the address. */
  children?: (mistakes: Mistakes, submission: Submission) => ComponentChildren;
}

/** Codes of what can be wrong with the address itself. */
const ADDRESS_PROBLEMS = ["invalid_email", "undeliverable_email"];

export function MailFlow(props: MailFlowProps) {
  const { title, lead, email, onEmail, emailHint, suggestion, check, shownAtField = [], children } = props;
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [mailed, setMailed] = useState(false);
  const submission = useSubmission(async () => {
    await props.send(trimmed(email));
    setMailed(true);
  });

  if (mailed) {
    return (
      <Inbox email={trimmed(email)} sent={props.sent} validity={props.validity} submission={submission}>
        <Button kind="link" onClick={() => setMailed(false)}>
          Use another address
        </Button>
      </Inbox>
    );
  }
  return (
    <Page key="form" title={title} layout="narrow" lead={lead}>
      <Form
        submission={submission}
        check={check}
        onMistakes={setMistakes}
        shownAtField={[...ADDRESS_PROBLEMS, ...shownAtField]}
        label={props.label}
        busyLabel={props.busyLabel}
      >
        <Field
          label="Email address"
          name="email"
          type="email"
          autocomplete="email"
          value={email}
          onValue={onEmail}
          {...(emailHint !== undefined && { hint: emailHint })}
          live={
            suggestion !== undefined && (
              <p role="status">
                Did you mean{" "}
                <Button kind="link" onClick={() => onEmail(suggestion)}>
                  {suggestion}
                </Button>
                ?
              </p>
            )
          }
          mistake={mistakes.email ?? submission.told(ADDRESS_PROBLEMS)}
        />
        {children?.(mistakes, submission)}
      </Form>
      <Aside>{props.aside}</Aside>
    </Page>
  );
}

interface InboxProps {
  email: string;
  sent: (address: ComponentChildren) => ComponentChildren;
  validity: string;
  /** Sends the email once more. */
  submission: Submission;
  children?: ComponentChildren;
}

export function Inbox({ email, sent, validity, submission, children }: InboxProps) {
  const [again, setAgain] = useState(0);
  async function resend() {
    await submission.run();
    setAgain(again + 1);
  }
  return (
    <Page key="inbox" title="Check your inbox" layout="narrow">
      <Lead>{sent(<strong class="address">{email}</strong>)}</Lead>
      <Notes>
        <li>The link expires in {validity} and can be used once.</li>
        <li>
          Nothing after a few minutes? Check your spam folder, and make sure the address above is spelled
          correctly.
        </li>
        {isLocal() && (
          <li>
            This is a local installation. The email is a file in <code>target/dev/mail/</code>, and{" "}
            <code>make dev</code> printed its link.
          </li>
        )}
      </Notes>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {again > 0 && !submission.busy && submission.problem === undefined && (
        <Notice tone="good">
          <p>Sent again. Only the newest link works.</p>
        </Notice>
      )}
      <Actions>
        <Button busy={submission.busy} busyLabel="Sending…" onClick={() => void resend()}>
          Send it again
        </Button>
        {children}
      </Actions>
    </Page>
  );
}
