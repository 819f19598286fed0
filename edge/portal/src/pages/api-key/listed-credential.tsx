// A key or a passkey in its list: it can be ended, and a key can be replaced.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Form, useSubmission } from "../../ui/form";
import { ProblemNotice } from "../../ui/notice";
import { type KeyProof, KeyProofDialog } from "./key-proof-dialog";
import css from "./named-keys.module.css";

interface ListedCredentialProps {
  noun: "key" | "passkey";
  name: string;
  ending: { verb: string; busyLabel: string; text: string; act: () => Promise<void> };
  replacing?: {
    text: string;
    twoFactor: boolean;
    email: string;
    act: (proof: KeyProof) => Promise<void>;
  };
  /** Lines below the name. */
  children: ComponentChildren;
}

export function ListedCredential(props: ListedCredentialProps) {
  const { noun, name, ending, replacing, children } = props;
  const [asking, setAsking] = useState<"end" | "replace">();
  const close = () => setAsking(undefined);
  const end = useSubmission(ending.act);
  return (
    <li class={css.item}>
      <span class={css.what}>
        <span>
          <strong class={css.name}>{name}</strong>
        </span>
        {children}
      </span>
      <span class={css.buttons}>
        {replacing && (
          <Button small label={`Replace ${noun} ${name}`} onClick={() => setAsking("replace")}>
            Replace…
          </Button>
        )}
        <Button small label={`${ending.verb} ${noun} ${name}`} onClick={() => setAsking("end")}>
          {ending.verb}…
        </Button>
      </span>
      {asking === "end" && (
        <Dialog title={`${ending.verb} “${name}”?`} onClose={close}>
          <p>{ending.text}</p>
          <Form
            submission={end}
            label={`${ending.verb} ${noun}`}
            busyLabel={ending.busyLabel}
            danger
            secondary={<Button onClick={close}>Keep it</Button>}
          />
        </Dialog>
      )}
      {asking === "replace" && replacing && (
        <KeyProofDialog
          title={`Replace “${name}”?`}
          text={replacing.text}
          label={`Replace ${noun}`}
          busyLabel="Replacing…"
          twoFactor={replacing.twoFactor}
          email={replacing.email}
          onClose={close}
          act={async (proof) => {
            await replacing.act(proof);
            close();
          }}
        />
      )}
      {asking !== "end" && end.problem !== undefined && <ProblemNotice problem={end.problem} />}
    </li>
  );
}
