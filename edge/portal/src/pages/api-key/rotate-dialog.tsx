// Asks for confirmation before the API key is replaced, and for a code if two-factor is on.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Button } from "../../ui/button";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../../ui/code-field";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";

interface RotateDialogProps {
  twoFactor: boolean;
  onClose: () => void;
  onRotated: () => void;
}

export function RotateDialog({ twoFactor, onClose, onRotated }: RotateDialogProps) {
  const [code, setCode] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const body = coded ? { totp_code: plainCode(code) } : {};
    const { api_key } = await call("post", "/v1/auth/rotate-api-key", "session", body);
    session.replaceKey(api_key);
    onRotated();
  });
  // Two-factor may have been turned on in another browser since.
  const coded = twoFactor || submission.told(CODE_PROBLEMS) !== undefined;
  return (
    <Dialog title="Replace your API key?" onClose={onClose}>
      <p>Your current key stops working immediately, everywhere.</p>
      <Form
        submission={submission}
        check={() => ({ code: coded ? codeMistake(code) : undefined })}
        onMistakes={setMistakes}
        shownAtField={CODE_PROBLEMS}
        label="Replace key"
        busyLabel="Replacing…"
        danger
        secondary={<Button onClick={onClose}>Keep it</Button>}
      >
        {coded && (
          <CodeField value={code} onValue={setCode} mistake={mistakes.code} submission={submission} focused />
        )}
      </Form>
    </Dialog>
  );
}
