import { useState } from "preact/hooks";
import type { Problem } from "../../api/problem";
import { CodeField, codeMistake } from "../../ui/code-field";
import { Field } from "../../ui/field";
import type { Mistakes } from "../../ui/form";
import { tell } from "../../words/problems";

/** Password and, with two-factor on, code: asked again before what cannot be taken back. */
export interface ProofState {
  password: string;
  code: string;
  coded: boolean;
  setPassword: (password: string) => void;
  setCode: (code: string) => void;
}

export function useProof(coded: boolean): ProofState {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  return { password, code, coded, setPassword, setCode };
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
  problem: Problem | undefined;
}

export function Proof({ proof, email, mistakes, problem }: ProofProps) {
  const wrongPassword = problem?.code === "wrong_password" ? tell(problem) : undefined;
  const wrongCode = problem?.code?.startsWith("totp") ? tell(problem) : undefined;
  return (
    <>
      <input type="email" name="email" autocomplete="username" value={email} readOnly hidden />
      <Field
        label="Password"
        name="password"
        type="password"
        autocomplete="current-password"
        value={proof.password}
        onValue={proof.setPassword}
        mistake={mistakes.password ?? wrongPassword}
        focused
      />
      {proof.coded && (
        <CodeField value={proof.code} onValue={proof.setCode} mistake={mistakes.code ?? wrongCode} />
      )}
    </>
  );
}
