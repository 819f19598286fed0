// A page that sends an email: first a form, then advice while the reader waits for the email.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { isLocal } from "../local";
import { trimmed } from "../words/addresses";
import { Actions } from "./actions";
import { Button } from "./button";
import { Field } from "./field";
import { Form, type Mistakes, type Submission, useSubmission } from "./form";
import { Notice, ProblemNotice } from "./notice";
import { Aside, Lead, Notes, Page } from "./page";
import { PersonCheck } from "./person-check";

interface MailFlowProps {
  title: string;
  lead: string;
  /** The address typed so far. */
  email: string;
  onEmail: (email: string) => void;
  emailHint?: string;
  /** The address that was probably meant, which the reader can accept. */
  suggestion?: string | undefined;
  /** Sends the email; `person` is part of the call's body. */
  send: (email: string, person: { turnstile_token?: string }) => Promise<unknown>;
  check: () => Mistakes;
  /** Codes of problems that fields of `children` show. */
  shownAtField?: readonly string[];
  label: string;
  busyLabel: string;
  /** Message after the email was sent. */
  sent: (address: ComponentChildren) => ComponentChildren;
  validity: string;
  /** A sentence about the limit of these emails per address. */
  limit: string;
  /** True if another email can be sent immediately. */
  resends: boolean;
  aside: ComponentChildren;
  /** The fields after the address. */
  children?: (mistakes: Mistakes, submission: Submission) => ComponentChildren;
}

/** Error codes about the address itself. */
const ADDRESS_PROBLEMS = ["invalid_email", "undeliverable_email", "disposable_email"];

export function MailFlow(props: MailFlowProps) {
  const { title, lead, email, onEmail, emailHint, suggestion, check, shownAtField = [], children } = props;
  const [mistakes, setMistakes] = useState<Mistakes>({});
  // The address is kept in this tab's history only, to survive a reload.
  const [mailed, setMailed] = useState(mailedTo);
  const token = useRef<string | undefined>(undefined);
  const [tokensUsed, setTokensUsed] = useState(0);
  const personCheck = <PersonCheck key={tokensUsed} onToken={(next) => (token.current = next)} />;
  const submission = useSubmission(async () => {
    const address = mailed ?? trimmed(email);
    const sentToken = token.current;
    // The token is valid once; a new widget gets another token.
    token.current = undefined;
    try {
      await props.send(address, sentToken === undefined ? {} : { turnstile_token: sentToken });
    } finally {
      setTokensUsed((used) => used + 1);
    }
    history.replaceState({ ...history.state, mailedTo: address }, "");
    setMailed(address);
  });

  if (mailed !== undefined) {
    return (
      <Inbox
        email={mailed}
        sent={props.sent}
        validity={props.validity}
        limit={props.limit}
        submission={props.resends ? submission : undefined}
      >
        {props.resends && personCheck}
        <Button
          kind="link"
          onClick={() => {
            history.replaceState(null, "");
            setMailed(undefined);
          }}
        >
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
        {personCheck}
      </Form>
      <Aside>{props.aside}</Aside>
    </Page>
  );
}

interface InboxProps {
  email: string;
  sent: (address: ComponentChildren) => ComponentChildren;
  validity: string;
  limit: string;
  /** Sends the email once more. */
  submission: Submission | undefined;
  children?: ComponentChildren;
}

export function Inbox({ email, sent, validity, limit, submission, children }: InboxProps) {
  /** True after "Send it again"; a third email isn't offered. */
  const [again, setAgain] = useState(false);
  const done = again && submission?.busy === false && submission.problem === undefined;
  return (
    <Page key="inbox" title="Check your inbox" layout="narrow">
      <Lead>{sent(<strong class="address">{email}</strong>)}</Lead>
      <Notes>
        <li>The link expires in {validity} and can be used once.</li>
        <li>
          Nothing after a few minutes? Check your spam folder, and make sure the address above is spelled
          correctly.
        </li>
        <li>{limit}</li>
        {isLocal() && (
          <li>
            This is a local installation. The email is a file in <code>target/dev/mail/</code>, and{" "}
            <code>make dev</code> printed its link.
          </li>
        )}
      </Notes>
      {submission?.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {done && (
        <Notice tone="good">
          <p>Sent again. Only the newest link works.</p>
        </Notice>
      )}
      <Actions>
        {submission !== undefined && !done && (
          <Button
            busy={submission.busy}
            busyLabel="Sending…"
            onClick={() => {
              setAgain(true);
              void submission.run();
            }}
          >
            Send it again
          </Button>
        )}
        {children}
      </Actions>
    </Page>
  );
}

/** Returns the address that was emailed before a reload of the page. */
function mailedTo(): string | undefined {
  const state = typeof history === "undefined" ? undefined : (history.state as unknown);
  return typeof state === "object" &&
    state !== null &&
    "mailedTo" in state &&
    typeof state.mailedTo === "string"
    ? state.mailedTo
    : undefined;
}
