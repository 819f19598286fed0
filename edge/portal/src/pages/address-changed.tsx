// For the previous address of an account: freezes the account for a day, or undoes the change with the previous
// password.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { mailedToken } from "../mailed-token";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Card } from "../ui/card";
import { CODE_PROBLEMS, DigitsField, digitsMistake, plainCode } from "../ui/code-field";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { BrokenLink } from "../ui/mailed-link";
import { Notice } from "../ui/notice";
import { Lead, Page } from "../ui/page";
import { NewPassword, passwordMistake } from "../ui/password-field";

export default function AddressChanged() {
  const [token] = useState(mailedToken);
  const [useless, setUseless] = useState(false);
  const [undone, setUndone] = useState(false);
  if (undone) {
    return (
      <Page key="undone" title="The change has been undone" layout="narrow">
        <Lead>
          Your account has this address and your new password, and every session has ended. Sign in, then
          replace the API key: someone else may have seen it. Check the webhook and the sign-up guard, too.
        </Lead>
        <Actions>
          <LinkButton href="/sign-in" kind="primary">
            Sign in
          </LinkButton>
        </Actions>
      </Page>
    );
  }
  if (token === undefined || useless) {
    return (
      <BrokenLink broken={useless ? "useless" : "incomplete"} validity="seven days">
        <Actions>
          <LinkButton href="/sign-in">Sign in</LinkButton>
        </Actions>
      </BrokenLink>
    );
  }
  const part = { token, onUseless: () => setUseless(true) };
  return (
    <Page
      key="form"
      title="Your account has another email address"
      layout="narrow"
      lead="Was that you? Then there’s nothing to do here."
    >
      <Freeze {...part} />
      <Undo {...part} onUndone={() => setUndone(true)} />
    </Page>
  );
}

interface PartProps {
  token: string;
  onUseless: () => void;
}

/** Runs `action`, and `onUseless` if the link no longer works; the form shows any other problem. */
async function withLink(action: () => Promise<unknown>, onUseless: () => void): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof Problem && error.code === "invalid_token")) throw error;
    onUseless();
    return false;
  }
}

function Freeze({ token, onUseless }: PartProps) {
  const [frozen, setFrozen] = useState(false);
  const submission = useSubmission(async () => {
    const freeze = () => call("post", "/v1/auth/freeze", "anyone", { token });
    if (await withLink(freeze, onUseless)) setFrozen(true);
  });
  return (
    <Card id="freeze" title="Stop further changes">
      {frozen ? (
        <Notice tone="good">
          <p>The account is frozen for 24 hours.</p>
        </Notice>
      ) : (
        <>
          <p>
            For 24 hours nobody can change the account’s address, password, two-factor authentication or API
            key, or delete it. This works once.
          </p>
          <Form submission={submission} label="Freeze the account" busyLabel="Freezing…" />
        </>
      )}
    </Card>
  );
}

function Undo({ token, onUseless, onUndone }: PartProps & { onUndone: () => void }) {
  const [password, setPassword] = useState("");
  const [fresh, setFresh] = useState("");
  const [code, setCode] = useState("");
  const [coded, setCoded] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const body = { token, password, new_password: fresh, ...(coded && { totp_code: plainCode(code) }) };
    try {
      const undo = () => call("post", "/v1/auth/undo-change-email", "anyone", body);
      if (await withLink(undo, onUseless)) onUndone();
    } catch (error) {
      if (!(error instanceof Problem && error.code === "totp_required" && !coded)) throw error;
      setCoded(true);
    }
  });
  return (
    <Card id="undo" title="Undo the change">
      <p>Your account gets this address back. Every session ends, and you choose a new password.</p>
      <Form
        submission={submission}
        check={() => ({
          password: password === "" ? "Enter your previous password." : undefined,
          fresh: passwordMistake(fresh),
          code: coded ? digitsMistake(code) : undefined,
        })}
        onMistakes={setMistakes}
        shownAtField={["wrong_password", "invalid_password", ...CODE_PROBLEMS]}
        label="Undo the change"
        busyLabel="Undoing…"
      >
        <Field
          label="Password before the change"
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onValue={setPassword}
          mistake={
            mistakes.password ??
            (submission.told(["wrong_password"]) === undefined
              ? undefined
              : "That wasn’t your password before the change.")
          }
        />
        <NewPassword
          label="New password"
          name="new_password"
          email=""
          value={fresh}
          onValue={setFresh}
          mistake={mistakes.fresh ?? submission.told(["invalid_password"])}
        />
        {coded && (
          <DigitsField
            value={code}
            onValue={setCode}
            mistake={mistakes.code ?? submission.told(CODE_PROBLEMS)}
            hint="The code of the authenticator that was on before the change. Recovery codes don’t work here."
            focused
          />
        )}
      </Form>
    </Card>
  );
}
