import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Proof, proofMistakes, useProof } from "./proof";

export function DeleteAccount({ email, twoFactor }: { email: string; twoFactor: boolean }) {
  const [asking, setAsking] = useState(false);
  return (
    <section class="card danger-zone" aria-labelledby="delete">
      <h2 id="delete">Delete account</h2>
      <p>
        Removes your account with everything that belongs to it, at once and for good. Your API key stops
        working.
      </p>
      <div class="actions">
        <Button kind="danger" onClick={() => setAsking(true)}>
          Delete account…
        </Button>
      </div>
      {asking && <DeleteDialog email={email} twoFactor={twoFactor} onClose={() => setAsking(false)} />}
    </section>
  );
}

function DeleteDialog({
  email,
  twoFactor,
  onClose,
}: {
  email: string;
  twoFactor: boolean;
  onClose: () => void;
}) {
  const proof = useProof(twoFactor);
  const [sure, setSure] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { password, code } = proof;
    await call("delete", "/v1/me", "session", { password, ...(twoFactor && { totp_code: code.trim() }) });
    session.end("deleted");
  });
  return (
    <Dialog title="Delete your account?" onClose={onClose}>
      <p>
        This cannot be undone. The account of <strong class="address">{email}</strong> will be gone.
      </p>
      <Form
        submission={submission}
        check={() => ({ ...proofMistakes(proof), sure: sure ? undefined : "Tick the box to go on." })}
        onMistakes={setMistakes}
        shownAtField={["wrong_password", "totp_invalid", "totp_required"]}
        label="Delete account"
        busyLabel="Deleting…"
        danger
        secondary={
          <button type="button" class="button plain" onClick={onClose}>
            Keep it
          </button>
        }
      >
        <Proof proof={proof} email={email} mistakes={mistakes} problem={submission.problem} />
        <div class="field">
          <label class="tick">
            <input
              type="checkbox"
              name="sure"
              checked={sure}
              required
              aria-invalid={mistakes.sure !== undefined ? "true" : undefined}
              aria-describedby={mistakes.sure !== undefined ? "sure-mistake" : undefined}
              onChange={(event) => setSure(event.currentTarget.checked)}
            />
            I want my account to be deleted
          </label>
          {mistakes.sure !== undefined && (
            <p class="mistake" id="sure-mistake">
              {mistakes.sure}
            </p>
          )}
        </div>
      </Form>
    </Dialog>
  );
}
