// Asks for the password, and for a code if two-factor is on, before an action on keys.
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "../settings/proof";

export type KeyProof = ReturnType<typeof proofBody>;

interface KeyProofDialogProps {
  title: string;
  text: string;
  label: string;
  busyLabel: string;
  danger?: boolean;
  twoFactor: boolean;
  email: string;
  onClose: () => void;
  act: (proof: KeyProof) => Promise<void>;
}

export function KeyProofDialog(props: KeyProofDialogProps) {
  const { title, text, label, busyLabel, danger = false, twoFactor, email, onClose, act } = props;
  const proof = useProof(twoFactor);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(() => act(proofBody(proof)));
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <Form
        submission={submission}
        check={() => proofMistakes(proof)}
        onMistakes={setMistakes}
        shownAtField={PROOF_PROBLEMS}
        label={label}
        busyLabel={busyLabel}
        danger={danger}
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} />
      </Form>
    </Dialog>
  );
}
