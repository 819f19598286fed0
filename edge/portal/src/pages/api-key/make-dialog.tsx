// Asks for the rights and limits of a new named key.
import { useId, useState } from "preact/hooks";
import { type Schemas, call } from "../../api/client";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field, Tick } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "../settings/proof";
import css from "./named-keys.module.css";

type Right = Schemas["KeyRequest"]["rights"][number];

/** The rights that can be selected, with their descriptions. */
const RIGHTS: readonly (readonly [Right, string])[] = [
  ["checks", "Check addresses and domains"],
  ["scans", "Scan lists"],
  ["scans:read", "Read scans and their results"],
  ["quota", "See plan and allowances"],
  ["webhooks", "Read events"],
  ["guard", "Decide on sign-ups"],
];

/** Days until a key ends; 0 for never. */
const ENDS: readonly (readonly [number, string])[] = [
  [0, "Never"],
  [7, "After 7 days"],
  [30, "After 30 days"],
  [90, "After 90 days"],
  [365, "After a year"],
];

const DAY_MS = 86_400_000;

interface MakeDialogProps {
  twoFactor: boolean;
  email: string;
  onClose: () => void;
  onMade: (made: Schemas["NewKeyText"]) => void;
}

export function MakeDialog({ twoFactor, email, onClose, onMade }: MakeDialogProps) {
  const id = useId();
  const proof = useProof(twoFactor);
  const [name, setName] = useState("");
  const [test, setTest] = useState(false);
  const [rights, setRights] = useState<readonly Right[]>(["checks"]);
  const [limit, setLimit] = useState("");
  const [days, setDays] = useState(0);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const made = await call("post", "/v1/keys", "session", {
      name: name.trim(),
      rights: test ? ["sandbox"] : [...rights],
      ...(!test && limit.trim() !== "" && { daily_limit: Number(limit) }),
      ...(days > 0 && { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
      ...proofBody(proof),
    });
    onMade(made);
  });
  const check = (): Mistakes => ({
    name: name.trim() === "" ? "Give it a name." : undefined,
    rights: !test && rights.length === 0 ? "Tick at least one right." : undefined,
    limit: /^\s*([1-9]\d{0,8})?\s*$/.test(limit) ? undefined : "Enter a whole number, or leave it empty.",
    ...proofMistakes(proof),
  });
  return (
    <Dialog title="Make a key" onClose={onClose}>
      <Form
        submission={submission}
        check={check}
        onMistakes={setMistakes}
        shownAtField={PROOF_PROBLEMS}
        label="Make key"
        busyLabel="Making…"
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Field
          label="Name"
          name="key-name"
          autocomplete="off"
          value={name}
          onValue={setName}
          hint="For you, such as the program’s name."
          mistake={mistakes["name"]}
          focused
        />
        <Tick
          name="test"
          label="Test key: sandbox addresses only, never counted"
          checked={test}
          onChecked={setTest}
        />
        {!test && (
          <>
            <fieldset class={css.rights}>
              <legend>What may it do?</legend>
              {RIGHTS.map(([right, label], index) => (
                <Tick
                  key={right}
                  name={right}
                  label={label}
                  checked={rights.includes(right)}
                  onChecked={(checked) =>
                    setRights(checked ? [...rights, right] : rights.filter((other) => other !== right))
                  }
                  mistake={index === 0 ? mistakes["rights"] : undefined}
                />
              ))}
            </fieldset>
            <Field
              label="Checks a day"
              name="daily-limit"
              autocomplete="off"
              inputMode="numeric"
              value={limit}
              onValue={setLimit}
              hint="Optional. Without it the key may use all that your account has. A key with a limit can’t scan lists."
              mistake={mistakes["limit"]}
            />
          </>
        )}
        <div class={css.choice}>
          <label for={`${id}-ends`}>Ends</label>
          <select
            id={`${id}-ends`}
            value={days}
            onChange={(event) => setDays(Number(event.currentTarget.value))}
          >
            {ENDS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} focused={false} />
      </Form>
    </Dialog>
  );
}
