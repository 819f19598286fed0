// Deletes the account, after the password, a code if two-factor is on, and a ticked box.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Tick } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "./proof";

interface DeleteAccountProps {
  email: string;
  twoFactor: boolean;
}

export function DeleteAccount({ email, twoFactor }: DeleteAccountProps) {
  const [asking, setAsking] = useState(false);
  return (
    <Card id="delete" title="Delete account" split danger>
      <p>
        Closes your account for good, and your API keys stop working immediately. What we keep for a while is
        on the <a href="/privacy">privacy page</a>.
      </p>
      <Actions>
        <Button kind="danger" onClick={() => setAsking(true)}>
          Delete account…
        </Button>
      </Actions>
      {asking && <DeleteDialog email={email} twoFactor={twoFactor} onClose={() => setAsking(false)} />}
    </Card>
  );
}

function DeleteDialog({ email, twoFactor, onClose }: DeleteAccountProps & { onClose: () => void }) {
  const proof = useProof(twoFactor);
  const [sure, setSure] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { password, totp_code } = proofBody(proof);
    await call("delete", "/v1/me", "session", { password, ...(twoFactor && { totp_code }) });
    session.end("deleted");
  });
  return (
    <Dialog title="Delete your account?" onClose={onClose}>
      <p>
        This can’t be undone. The account of <strong class="address">{email}</strong> will be gone.
      </p>
      <Form
        submission={submission}
        check={() => ({ ...proofMistakes(proof), sure: sure ? undefined : "Tick the box to continue." })}
        onMistakes={setMistakes}
        shownAtField={PROOF_PROBLEMS}
        label="Delete account"
        busyLabel="Deleting…"
        danger
        secondary={<Button onClick={onClose}>Keep it</Button>}
      >
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} />
        <Tick
          name="sure"
          label="I want to delete my account"
          checked={sure}
          onChecked={setSure}
          required
          mistake={mistakes.sure}
        />
      </Form>
    </Dialog>
  );
}
