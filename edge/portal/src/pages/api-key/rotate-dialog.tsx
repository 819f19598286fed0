import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { CodeField, codeMistake } from "../../ui/code-field";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { tell } from "../../words/problems";

interface RotateDialogProps {
  twoFactor: boolean;
  onClose: () => void;
  onRotated: () => void;
}

export function RotateDialog({ twoFactor, onClose, onRotated }: RotateDialogProps) {
  const [code, setCode] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { api_key } = await call(
      "post",
      "/v1/auth/rotate-api-key",
      "session",
      coded ? { totp_code: code.trim() } : {},
    );
    session.replaceKey(api_key);
    onRotated();
  });
  const { problem } = submission;
  const wrongCode = problem?.code?.startsWith("totp") === true;
  // It may have been turned on in another window since.
  const coded = twoFactor || wrongCode;
  return (
    <Dialog title="Replace your API key?" onClose={onClose}>
      <p>The present key stops working at once, everywhere.</p>
      <Form
        submission={submission}
        check={() => ({ code: coded ? codeMistake(code) : undefined })}
        onMistakes={setMistakes}
        shownAtField={["totp_required", "totp_invalid"]}
        label="Replace key"
        busyLabel="Replacing…"
        danger
        secondary={
          <button type="button" class="button plain" onClick={onClose}>
            Keep it
          </button>
        }
      >
        {coded && (
          <CodeField
            value={code}
            onValue={setCode}
            mistake={mistakes.code ?? (wrongCode ? tell(problem) : undefined)}
            focused
          />
        )}
      </Form>
    </Dialog>
  );
}
