// Sign-in: password, then a code where two-factor is on; or a passkey.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import * as passkeys from "../api/passkeys";
import { Problem } from "../api/problem";
import * as session from "../session";
import { Button } from "../ui/button";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../ui/code-field";
import { Field, Tick } from "../ui/field";
import { Form, type Mistakes, type Submission, useSubmission } from "../ui/form";
import { Notice, ProblemNotice, type Tone } from "../ui/notice";
import { Aside, Page } from "../ui/page";
import { addressMistake, trimmed } from "../words/addresses";
import { useTypedEmail } from "../words/typed-email";

const FAREWELLS: Record<session.Ending, { tone: Tone; text: string }> = {
  expired: { tone: "unknown", text: "Your session has ended. Sign in to pick up where you left off." },
  "signed-out": { tone: "plain", text: "You’ve been signed out." },
  everywhere: { tone: "plain", text: "You’ve been signed out on every device." },
  deleted: { tone: "plain", text: "Your account has been deleted." },
};

type Step = "password" | "code";

/** Error codes for an unconfirmed address: the first after a wrong password, otherwise the second. */
const MAY_BE_UNCONFIRMED = ["invalid_credentials", "unconfirmed"];

export default function SignIn() {
  const [step, setStep] = useState<Step>("password");
  const [email, setEmail] = useTypedEmail();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [stays, setStays] = useState(false);

  const signIn = useSubmission(async () => {
    try {
      // Starting the session opens the requested page.
      session.start(
        await call("post", "/v1/auth/login", "anyone", {
          email: trimmed(email),
          password,
          ...(step === "code" && { totp_code: plainCode(code) }),
        }),
        stays,
      );
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code === "totp_required" && step === "password") return setStep("code");
      throw error;
    }
  });

  // The passkey's signature. If the device didn't verify its owner, a code is also required.
  const [used, setUsed] = useState<passkeys.UsedCredential>();
  const byPasskey = useSubmission(async () => {
    const credential = used ?? (await passkeys.use());
    try {
      const proven = await passkeys.signIn(credential, step === "code" ? plainCode(code) : undefined);
      session.start(proven, stays);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code === "totp_required" && step === "password") {
        setUsed(credential);
        return setStep("code");
      }
      throw error;
    }
  });

  switch (step) {
    case "code":
      return (
        <CodeStep
          key={step}
          submission={used === undefined ? signIn : byPasskey}
          lead={
            used === undefined
              ? "Your password is right. One more step."
              : "Your passkey is right. One more step."
          }
          code={code}
          onCode={setCode}
          onBack={() => {
            setStep("password");
            setCode("");
            setUsed(undefined);
            signIn.clear();
            byPasskey.clear();
          }}
        />
      );
    case "password":
      return (
        <PasswordStep
          key={step}
          submission={signIn}
          email={email}
          onEmail={setEmail}
          password={password}
          onPassword={setPassword}
          stays={stays}
          onStays={setStays}
          byPasskey={byPasskey}
        />
      );
  }
}

interface CodeStepProps {
  submission: Submission;
  lead: string;
  code: string;
  onCode: (code: string) => void;
  onBack: () => void;
}

function CodeStep({ submission, lead, code, onCode, onBack }: CodeStepProps) {
  const [mistakes, setMistakes] = useState<Mistakes>({});
  return (
    <Page title="Two-factor code" layout="narrow" lead={lead}>
      <Form
        submission={submission}
        check={() => ({ code: codeMistake(code) })}
        onMistakes={setMistakes}
        shownAtField={CODE_PROBLEMS}
        label="Sign in"
        busyLabel="Signing in…"
        secondary={
          <Button kind="link" onClick={onBack}>
            Back
          </Button>
        }
      >
        <CodeField value={code} onValue={onCode} mistake={mistakes.code} submission={submission} focused />
      </Form>
    </Page>
  );
}

interface PasswordStepProps {
  submission: Submission;
  email: string;
  onEmail: (email: string) => void;
  password: string;
  onPassword: (password: string) => void;
  stays: boolean;
  onStays: (stays: boolean) => void;
  byPasskey: Submission;
}

function PasswordStep(props: PasswordStepProps) {
  const { submission, email, onEmail, password, onPassword, stays, onStays, byPasskey } = props;
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [ending] = useState(session.lastEnding);
  return (
    <Page title="Sign in" layout="narrow">
      {ending !== undefined && (
        <Notice tone={FAREWELLS[ending].tone}>
          <p>{FAREWELLS[ending].text}</p>
        </Notice>
      )}
      <Form
        submission={submission}
        check={() => ({
          email: addressMistake(email),
          password: password === "" ? "Enter your password." : undefined,
        })}
        onMistakes={setMistakes}
        label="Sign in"
        busyLabel="Signing in…"
        secondary={
          passkeys.hasPasskeys() && (
            <Button
              busy={byPasskey.busy}
              busyLabel="Waiting for your device…"
              onClick={() => void byPasskey.run()}
            >
              Use a passkey
            </Button>
          )
        }
      >
        <Field
          label="Email address"
          name="email"
          type="email"
          autocomplete="username"
          value={email}
          onValue={onEmail}
          mistake={mistakes.email}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onValue={onPassword}
          mistake={mistakes.password}
        />
        <Tick
          name="stays"
          label="Stay signed in on this device"
          hint="For twelve hours, even if you close the tab. Not on a computer that others use."
          checked={stays}
          onChecked={onStays}
        />
      </Form>
      {byPasskey.problem !== undefined && <ProblemNotice problem={byPasskey.problem} />}
      {submission.told(MAY_BE_UNCONFIRMED) !== undefined && (
        <Aside>
          Haven’t confirmed your address yet? <a href="/register">Register again</a> with it to get a new
          link.
        </Aside>
      )}
      <Aside>
        <a href="/forgot">Forgot your password?</a>
      </Aside>
      <Aside>
        No account yet? <a href="/register">Create one</a>
      </Aside>
    </Page>
  );
}
