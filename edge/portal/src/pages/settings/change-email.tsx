// Changes the account's email address: the link sent to the new address confirms it.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "./proof";

interface ChangeEmailProps {
  email: string;
  twoFactor: boolean;
}

export function ChangeEmail({ email, twoFactor }: ChangeEmailProps) {
  const [asking, setAsking] = useState(false);
  const [mailed, setMailed] = useState<string>();
  return (
    <Card id="email" title="Email address" split>
      <p>
        You sign in with <strong class="address">{email}</strong>, and emails about your account go there.
      </p>
      {mailed !== undefined && (
        <Notice tone="good">
          <p>
            Open the link we’ve sent to <strong class="address">{mailed}</strong> within 24 hours. Your
            address changes three days after its present mailbox was told. No email? We send at most two an
            hour to an address, and the last link keeps working. Or the address has an account already.
          </p>
        </Notice>
      )}
      <Actions>
        <Button onClick={() => setAsking(true)}>Change email address…</Button>
      </Actions>
      {asking && (
        <ChangeDialog
          email={email}
          twoFactor={twoFactor}
          onClose={() => setAsking(false)}
          onMailed={(to) => {
            setMailed(to);
            setAsking(false);
          }}
        />
      )}
    </Card>
  );
}

interface ChangeDialogProps extends ChangeEmailProps {
  onClose: () => void;
  onMailed: (to: string) => void;
}

function ChangeDialog({ email, twoFactor, onClose, onMailed }: ChangeDialogProps) {
  const proof = useProof(twoFactor);
  const [fresh, setFresh] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { password, totp_code } = proofBody(proof);
    const body = { email: fresh.trim(), password, ...(twoFactor && { totp_code }) };
    await call("post", "/v1/auth/change-email", "session", body);
    onMailed(fresh.trim());
  });
  return (
    <Dialog title="Change your email address" onClose={onClose}>
      <p>We’ll send a link to the new address, and tell the current one. The change takes three days.</p>
      <Form
        submission={submission}
        check={() => ({
          ...proofMistakes(proof),
          email: fresh.trim() === "" ? "Enter the new address." : undefined,
        })}
        onMistakes={setMistakes}
        shownAtField={["invalid_email", "undeliverable_email", "disposable_email", ...PROOF_PROBLEMS]}
        label="Send the link"
        busyLabel="Sending…"
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Field
          label="New email address"
          name="new_email"
          type="email"
          autocomplete="email"
          value={fresh}
          onValue={setFresh}
          mistake={
            mistakes.email ?? submission.told(["invalid_email", "undeliverable_email", "disposable_email"])
          }
        />
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} />
      </Form>
    </Dialog>
  );
}
