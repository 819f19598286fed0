// Turns two-factor authentication on and off, and replaces the recovery codes.
import { clsx } from "clsx";
import { useState } from "preact/hooks";
import { call, type Schemas } from "../../api/client";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { counted } from "../../words/times";
import { PROOF_PROBLEMS, Proof, proofBody, proofMistakes, useProof } from "./proof";
import { RecoveryCodes } from "./recovery-codes";
import { TwoFactorSetUp } from "./two-factor-setup";
import css from "./two-factor.module.css";

interface TwoFactorProps {
  account: Schemas["Account"];
  onChanged: () => Promise<void>;
}

export function TwoFactor(props: TwoFactorProps) {
  return (
    <Card id="two-factor" title="Two-factor authentication" split>
      <State {...props} />
    </Card>
  );
}

function State({ account, onChanged }: TwoFactorProps) {
  const [setting, setSetting] = useState(false);
  const [codes, setCodes] = useState<string[]>();
  if (codes !== undefined) {
    const kept = async () => {
      setCodes(undefined);
      setSetting(false);
      await onChanged();
    };
    return <RecoveryCodes codes={codes} email={account.email} replaced={account.two_factor} onKept={kept} />;
  }
  if (setting)
    return <TwoFactorSetUp email={account.email} onCancel={() => setSetting(false)} onCodes={setCodes} />;
  if (account.two_factor) return <On account={account} onChanged={onChanged} onCodes={setCodes} />;
  return (
    <>
      <p>
        <span class={css.badge}>Off</span> When it’s on, signing in and showing or replacing the API key also
        take a code from an app on your phone. A stolen password isn’t enough then.
      </p>
      <Actions>
        <Button onClick={() => setSetting(true)}>Turn on…</Button>
      </Actions>
    </>
  );
}

/** Number of recovery codes below which a warning is shown. */
const FEW = 3;

function On({ account, onChanged, onCodes }: TwoFactorProps & { onCodes: (codes: string[]) => void }) {
  const [asking, setAsking] = useState<"off" | "codes">();
  const close = () => setAsking(undefined);
  const left = account.recovery_codes_left;
  return (
    <>
      <p>
        <span class={clsx(css.badge, css.on)}>On</span> You need a code to sign in, and to show or replace the
        API key. {counted(left, "recovery code")} left.
      </p>
      {left < FEW && (
        <Notice tone="unknown">
          <p>Make new recovery codes before you run out. Without them, losing your phone locks you out.</p>
        </Notice>
      )}
      <Actions>
        <Button onClick={() => setAsking("codes")}>New recovery codes…</Button>
        <Button onClick={() => setAsking("off")}>Turn off…</Button>
      </Actions>
      {asking === "codes" && (
        <ProofDialog
          title="Make new recovery codes?"
          text="The ones you have now will stop working."
          label="Make new codes"
          busyLabel="Making…"
          email={account.email}
          onClose={close}
          action={async (proof) => {
            const { recovery_codes } = await call("post", "/v1/auth/totp/recovery-codes", "session", proof);
            close();
            onCodes(recovery_codes);
          }}
        />
      )}
      {asking === "off" && (
        <ProofDialog
          title="Turn two-factor authentication off?"
          text="After that, your password alone is enough to sign in."
          label="Turn off"
          busyLabel="Turning off…"
          email={account.email}
          onClose={close}
          action={async (proof) => {
            await call("post", "/v1/auth/totp/disable", "session", proof);
            close();
            await onChanged();
          }}
        />
      )}
    </>
  );
}

interface ProofDialogProps {
  title: string;
  text: string;
  label: string;
  busyLabel: string;
  email: string;
  onClose: () => void;
  action: (proof: Schemas["PasswordAndCode"]) => Promise<void>;
}

function ProofDialog({ title, text, label, busyLabel, email, onClose, action }: ProofDialogProps) {
  const proof = useProof(true);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(() => action(proofBody(proof)));
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
        secondary={<Button onClick={onClose}>Cancel</Button>}
      >
        <Proof proof={proof} email={email} mistakes={mistakes} submission={submission} />
      </Form>
    </Dialog>
  );
}
