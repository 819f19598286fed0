// Replaces the password, which ends every other session.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Card } from "../../ui/card";
import { Field, Username } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { NewPassword, passwordMistake } from "../../ui/password-field";

interface ChangePasswordProps {
  email: string;
  /** Shows the open changes anew: a new password takes none of them back. */
  onChanged: () => Promise<void>;
}

export function ChangePassword({ email, onChanged }: ChangePasswordProps) {
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [changed, setChanged] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const body = { current_password: current, new_password: fresh };
    session.start(await call("put", "/v1/auth/password", "session", body));
    setCurrent("");
    setFresh("");
    setChanged(true);
    await onChanged();
  });
  return (
    <Card id="password" title="Password" split>
      <Form
        submission={submission}
        check={() => ({
          current: current === "" ? "Enter your current password." : undefined,
          fresh:
            passwordMistake(fresh) ??
            (fresh === current ? "Choose a password other than your current one." : undefined),
        })}
        onMistakes={(found) => {
          setMistakes(found);
          setChanged(false);
        }}
        shownAtField={["wrong_password", "invalid_password"]}
        label="Change password"
        busyLabel="Changing…"
      >
        <Username email={email} />
        <Field
          label="Current password"
          name="current_password"
          type="password"
          autocomplete="current-password"
          value={current}
          onValue={setCurrent}
          mistake={mistakes.current ?? submission.told(["wrong_password"])}
        />
        <NewPassword
          label="New password"
          name="new_password"
          email={email}
          value={fresh}
          onValue={setFresh}
          mistake={mistakes.fresh ?? submission.told(["invalid_password"])}
        />
        {changed && (
          <Notice tone="good">
            <p>Password changed. You’ve been signed out on every other device.</p>
          </Notice>
        )}
      </Form>
    </Card>
  );
}
