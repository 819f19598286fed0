// Passkeys: the list, and buttons to add or remove them.
import { useState } from "preact/hooks";
import { type Schemas, call } from "../../api/client";
import * as passkeys from "../../api/passkeys";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Loaded, useResource } from "../../ui/resource";
import { moment } from "../../words/times";
import { ListedCredential } from "../api-key/listed-credential";
import css from "../api-key/named-keys.module.css";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "./proof";

type Listed = Schemas["Passkey"];

/** Greatest length of a name in characters, as the service counts them. */
const LONGEST = 60;

interface OwnerProps {
  email: string;
  twoFactor: boolean;
}

export function Passkeys({ email, twoFactor }: OwnerProps) {
  const [adding, setAdding] = useState(false);
  const listed = useResource(() => call("get", "/v1/auth/passkeys", "session"));
  return (
    <Card id="passkeys" title="Passkeys" split>
      <p>
        Sign in with your fingerprint, face, PIN or a security key in place of password and code. Your
        password keeps working.
      </p>
      <Loaded resource={listed} skeleton={["line"]} what="your passkeys">
        {({ passkeys: all }) => (
          <>
            {all.length === 0 && <p class="quiet">You have no passkeys.</p>}
            <ul class={css.list}>
              {all.map((one) => (
                <Item key={one.id} passkey={one} onChanged={listed.reload} />
              ))}
            </ul>
          </>
        )}
      </Loaded>
      {passkeys.hasPasskeys() ? (
        <Actions>
          <Button onClick={() => setAdding(true)}>Add a passkey…</Button>
        </Actions>
      ) : (
        <p class="quiet">This browser can’t make passkeys here.</p>
      )}
      {adding && (
        <AddDialog
          email={email}
          twoFactor={twoFactor}
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            void listed.reload();
          }}
        />
      )}
    </Card>
  );
}

interface AddDialogProps extends OwnerProps {
  onClose: () => void;
  onAdded: () => void;
}

function AddDialog({ email, twoFactor, onClose, onAdded }: AddDialogProps) {
  const proof = useProof(twoFactor);
  const [name, setName] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const { password, totp_code } = proofBody(proof);
    await passkeys.add(name.trim(), { password, ...(twoFactor && { totp_code }) });
    onAdded();
  });
  return (
    <Dialog title="Add a passkey" onClose={onClose}>
      <p>Your device asks you next. Anyone who can unlock it can then sign in here.</p>
      <Form
        submission={submission}
        check={() => ({ name: nameMistake(name.trim()), ...proofMistakes(proof) })}
        onMistakes={setMistakes}
        shownAtField={PROOF_PROBLEMS}
        label="Add passkey"
        busyLabel="Waiting for your device…"
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Field
          label="Passkey name"
          name="passkey_name"
          autocomplete="off"
          value={name}
          onValue={setName}
          hint="Such as “my phone”, to recognize it by."
          mistake={mistakes.name}
        />
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} focused={false} />
      </Form>
    </Dialog>
  );
}

function nameMistake(name: string): string | undefined {
  if (name === "") return "Give it a name.";
  return [...name].length > LONGEST ? `Use at most ${LONGEST} characters.` : undefined;
}

interface ItemProps {
  passkey: Listed;
  onChanged: () => Promise<void>;
}

function Item({ passkey, onChanged }: ItemProps) {
  const { id, name, created_at, last_used_at } = passkey;
  return (
    <ListedCredential
      noun="passkey"
      name={name}
      ending={{
        verb: "Remove",
        busyLabel: "Removing…",
        text: "It won’t sign in any more. Delete it on your device, too, so that it isn’t offered there.",
        act: async () => {
          await call("delete", "/v1/auth/passkeys/{id}", "session", undefined, { id });
          await onChanged();
        },
      }}
    >
      <span class="quiet">
        Added {moment(created_at)};{" "}
        {last_used_at == null ? "not used yet" : `last used ${moment(last_used_at)}`}
      </span>
    </ListedCredential>
  );
}
