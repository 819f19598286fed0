// Asks again for the password and, if two-factor is on, for a code, before an important action.
import { useState } from "preact/hooks";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../../ui/code-field";
import { Field, Username } from "../../ui/field";
import type { Mistakes, Submission } from "../../ui/form";

export interface ProofState {
  password: string;
  /** The code as typed. */
  code: string;
  coded: boolean;
  setPassword: (password: string) => void;
  setCode: (code: string) => void;
}

/** Problems that the fields show themselves. */
export const PROOF_PROBLEMS: readonly string[] = ["wrong_password", ...CODE_PROBLEMS];

export function useProof(coded: boolean): ProofState {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  return { password, code, coded, setPassword, setCode };
}

/** Returns the proof's members of a request's body. */
export function proofBody({ password, code }: ProofState): { password: string; totp_code: string } {
  return { password, totp_code: plainCode(code) };
}

export function proofMistakes(proof: ProofState): Mistakes {
  return {
    password: proof.password === "" ? "Enter your password." : undefined,
    code: proof.coded ? codeMistake(proof.code) : undefined,
  };
}

interface ProofProps {
  proof: ProofState;
  email: string;
  mistakes: Mistakes;
  submission: Submission;
  /** True if the password is the first field of its form. */
  focused?: boolean;
}

export function Proof({ proof, email, mistakes, submission, focused = true }: ProofProps) {
  return (
    <>
      <PasswordAgain
        email={email}
        value={proof.password}
        onValue={proof.setPassword}
        mistake={mistakes.password}
        submission={submission}
        focused={focused}
      />
      {proof.coded && (
        <CodeField
          value={proof.code}
          onValue={proof.setCode}
          mistake={mistakes.code}
          submission={submission}
        />
      )}
    </>
  );
}

interface PasswordAgainProps {
  email: string;
  value: string;
  onValue: (password: string) => void;
  mistake: string | undefined;
  submission: Submission;
  focused?: boolean;
}

export function PasswordAgain(props: PasswordAgainProps) {
  const { email, value, onValue, mistake, submission, focused = true } = props;
  return (
    <>
      <Username email={email} />
      <Field
        label="Password"
        name="password"
        type="password"
        autocomplete="current-password"
        value={value}
        onValue={onValue}
        mistake={mistake ?? submission.told(["wrong_password"])}
        focused={focused}
      />
    </>
  );
}
