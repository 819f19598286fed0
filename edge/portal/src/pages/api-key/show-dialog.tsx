// Shows the API key after a reload: no browser stores it, so the service returns it for the password.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Button } from "../../ui/button";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../../ui/code-field";
import { Dialog } from "../../ui/dialog";
import { Field, Username } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";

interface ShowDialogProps {
  email: string;
  onClose: () => void;
}

const WRONG = ["wrong_password"];

export function ShowDialog({ email, onClose }: ShowDialogProps) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [coded, setCoded] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const body = { password, ...(coded && { totp_code: plainCode(code) }) };
    const { api_key } = await call("post", "/v1/auth/show-api-key", "session", body);
    session.replaceKey(api_key);
    onClose();
  });
  // The form asks for a code once the service has required one.
  const wanted = submission.told(CODE_PROBLEMS) !== undefined;
  if (wanted && !coded) setCoded(true);
  return (
    <Dialog title="Show your API key" onClose={onClose}>
      <p>This browser doesn’t store the key. Enter your password to see it again.</p>
      <Form
        submission={submission}
        check={() => ({
          password: password === "" ? "Enter your password." : undefined,
          code: coded ? codeMistake(code) : undefined,
        })}
        onMistakes={setMistakes}
        shownAtField={[...WRONG, ...CODE_PROBLEMS]}
        label="Show key"
        busyLabel="Checking…"
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Username email={email} />
        <Field
          label="Password"
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onValue={setPassword}
          mistake={mistakes.password ?? (submission.told(WRONG) && "That isn’t your password. Try again.")}
          focused
        />
        {coded && (
          <CodeField value={code} onValue={setCode} mistake={mistakes.code} submission={submission} />
        )}
      </Form>
    </Dialog>
  );
}
