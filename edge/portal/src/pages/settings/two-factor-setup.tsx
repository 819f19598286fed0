import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type Schemas } from "../../api/client";
import { CodeField, codeMistake } from "../../ui/code-field";
import { Copy } from "../../ui/copy";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { tell } from "../../words/problems";
import { QrCode } from "./qr-code";

interface SetUpProps {
  email: string;
  onCancel: () => void;
  onCodes: (codes: string[]) => void;
}

/** Password, then QR code and a first valid code: only that turns it on. */
export function TwoFactorSetUp({ email, onCancel, onCodes }: SetUpProps) {
  const [secret, setSecret] = useState<Schemas["TotpSetUp"]>();
  const cancel = (
    <button type="button" class="button plain" onClick={onCancel}>
      Cancel
    </button>
  );
  return secret === undefined ? (
    <PasswordStep email={email} cancel={cancel} onSecret={setSecret} />
  ) : (
    <CodeStep secret={secret} cancel={cancel} onCodes={onCodes} />
  );
}

interface PasswordStepProps {
  email: string;
  cancel: JSX.Element;
  onSecret: (secret: Schemas["TotpSetUp"]) => void;
}

function PasswordStep({ email, cancel, onSecret }: PasswordStepProps) {
  const [password, setPassword] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () =>
    onSecret(await call("post", "/v1/auth/totp/setup", "session", { password })),
  );
  const wrong = submission.problem?.code === "wrong_password" ? tell(submission.problem) : undefined;
  return (
    <>
      <p class="step">Step 1 of 3: your password</p>
      <Form
        submission={submission}
        check={() => ({ password: password === "" ? "Enter your password." : undefined })}
        onMistakes={setMistakes}
        shownAtField={["wrong_password"]}
        label="Continue"
        busyLabel="Checking…"
        secondary={cancel}
      >
        <input type="email" name="email" autocomplete="username" value={email} readOnly hidden />
        <Field
          label="Password"
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onValue={setPassword}
          mistake={mistakes.password ?? wrong}
          focused
        />
      </Form>
    </>
  );
}

interface CodeStepProps {
  secret: Schemas["TotpSetUp"];
  cancel: JSX.Element;
  onCodes: (codes: string[]) => void;
}

function CodeStep({ secret, cancel, onCodes }: CodeStepProps) {
  const [code, setCode] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { recovery_codes } = await call("post", "/v1/auth/totp/enable", "session", {
      totp_code: code.trim(),
    });
    onCodes(recovery_codes);
  });
  const { problem } = submission;
  const wrong =
    problem?.code === "totp_invalid"
      ? "This code does not fit. Check that you scanned the QR code above, that your phone's clock is right, and enter the code it shows now."
      : undefined;
  return (
    <>
      <p class="step">Step 2 of 3: your authenticator app</p>
      <div class="scan">
        <QrCode
          text={secret.otpauth_url}
          label="QR code for your authenticator app; the same secret follows as text"
        />
        <div>
          <p>Scan the code with an authenticator app, or type the secret into it:</p>
          <p class="secret-row">
            <code class="secret">{secret.secret.match(/.{1,4}/g)?.join(" ")}</code>{" "}
            <Copy text={secret.secret} what="Secret" />
          </p>
          <p class="quiet">
            On this phone? <a href={secret.otpauth_url}>Open it in your app</a>.
          </p>
        </div>
      </div>
      <Form
        submission={submission}
        check={() => ({ code: codeMistake(code) })}
        onMistakes={setMistakes}
        shownAtField={["totp_invalid"]}
        label="Turn on"
        busyLabel="Turning on…"
        secondary={cancel}
      >
        <CodeField value={code} onValue={setCode} recovery={false} mistake={mistakes.code ?? wrong} focused />
      </Form>
    </>
  );
}
