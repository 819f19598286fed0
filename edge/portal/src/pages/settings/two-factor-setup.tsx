// Turns on two-factor authentication: password, QR code, and a first valid code, before which it stays off.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type Schemas } from "../../api/client";
import { Button } from "../../ui/button";
import { DigitsField, digitsMistake, plainCode } from "../../ui/code-field";
import { Copy } from "../../ui/copy";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { PasswordAgain } from "./proof";
import { QrCode } from "./qr-code";
import css from "./two-factor.module.css";

interface SetUpProps {
  email: string;
  onCancel: () => void;
  onCodes: (codes: string[]) => void;
}

export function TwoFactorSetUp({ email, onCancel, onCodes }: SetUpProps) {
  const [secret, setSecret] = useState<Schemas["TotpSetUp"]>();
  const cancel = <Button onClick={onCancel}>Cancel</Button>;
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
  return (
    <>
      <p class={css.step}>Step 1 of 3: your password</p>
      <Form
        submission={submission}
        check={() => ({ password: password === "" ? "Enter your password." : undefined })}
        onMistakes={setMistakes}
        shownAtField={["wrong_password"]}
        label="Continue"
        busyLabel="Checking…"
        secondary={cancel}
      >
        <PasswordAgain
          email={email}
          value={password}
          onValue={setPassword}
          mistake={mistakes.password}
          submission={submission}
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

const AT_FIELD = ["totp_invalid"];

function CodeStep({ secret, cancel, onCodes }: CodeStepProps) {
  const [code, setCode] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { recovery_codes } = await call("post", "/v1/auth/totp/enable", "session", {
      totp_code: plainCode(code),
    });
    onCodes(recovery_codes);
  });
  // Differs from sign-in's text: phone and service may not have the same time and secret yet.
  const wrong =
    submission.told(AT_FIELD) &&
    "That code isn’t right. Check that you scanned the code above and that your phone’s clock is right.";
  return (
    <>
      <p class={css.step}>Step 2 of 3: your authenticator app</p>
      <div class={css.scan}>
        <QrCode
          text={secret.otpauth_url}
          label="QR code for your authenticator app; the same secret follows as text"
        />
        <div>
          <p>Scan this with an authenticator app, or type the secret into it:</p>
          <p class={css.secretRow}>
            <code class={css.secret} data-part="secret">
              {secret.secret.match(/.{1,4}/g)?.join(" ")}
            </code>{" "}
            <Copy text={secret.secret} what="Secret" />
          </p>
          <p class="quiet">
            Reading this on your phone? <a href={secret.otpauth_url}>Open it in your authenticator</a>.
          </p>
        </div>
      </div>
      <Form
        submission={submission}
        check={() => ({ code: digitsMistake(code) })}
        onMistakes={setMistakes}
        shownAtField={AT_FIELD}
        label="Turn on"
        busyLabel="Turning on…"
        secondary={cancel}
      >
        <DigitsField value={code} onValue={setCode} mistake={mistakes.code ?? wrong} focused />
      </Form>
    </>
  );
}
