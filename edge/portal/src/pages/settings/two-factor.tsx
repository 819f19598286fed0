import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { call, type Schemas } from "../../api/client";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { counted } from "../../words/times";
import { Proof, proofMistakes, useProof } from "./proof";
import { RecoveryCodes } from "./recovery-codes";
import { TwoFactorSetUp } from "./two-factor-setup";

interface TwoFactorProps {
  account: Schemas["Account"];
  onChanged: () => Promise<void>;
}

/** Fewer recovery codes than this are worth a warning. */
const FEW = 3;

export function TwoFactor({ account, onChanged }: TwoFactorProps) {
  const [setting, setSetting] = useState(false);
  const [asking, setAsking] = useState<"off" | "codes">();
  const [codes, setCodes] = useState<string[]>();
  const left = account.recovery_codes_left;

  if (codes !== undefined) {
    const kept = async () => {
      setCodes(undefined);
      setSetting(false);
      await onChanged();
    };
    return (
      <Frame>
        <RecoveryCodes codes={codes} email={account.email} replaced={account.two_factor} onKept={kept} />
      </Frame>
    );
  }
  if (setting)
    return (
      <Frame>
        <TwoFactorSetUp email={account.email} onCancel={() => setSetting(false)} onCodes={setCodes} />
      </Frame>
    );
  if (!account.two_factor) {
    return (
      <Frame>
        <p>
          <span class="badge">Off</span> With it on, signing in and replacing the API key also take a code
          from an app on your phone. A stolen password is then not enough.
        </p>
        <div class="actions">
          <Button onClick={() => setSetting(true)}>Turn on…</Button>
        </div>
      </Frame>
    );
  }
  return (
    <Frame>
      <p>
        <span class="badge on">On</span> Signing in and replacing the API key take a code.{" "}
        {counted(left, "recovery code")} left.
      </p>
      {left < FEW && (
        <Notice tone="unknown">
          <p>Make new recovery codes before you run out: without them, a lost phone means a lost account.</p>
        </Notice>
      )}
      <div class="actions">
        <Button onClick={() => setAsking("codes")}>New recovery codes…</Button>
        <Button onClick={() => setAsking("off")}>Turn off…</Button>
      </div>
      {asking === "codes" && (
        <ProofDialog
          title="Make new recovery codes?"
          text="The ones you have now stop working."
          label="Make new codes"
          busyLabel="Making…"
          email={account.email}
          onClose={() => setAsking(undefined)}
          action={async (proof) => {
            const { recovery_codes } = await call("post", "/v1/auth/totp/recovery-codes", "session", proof);
            setAsking(undefined);
            setCodes(recovery_codes);
          }}
        />
      )}
      {asking === "off" && (
        <ProofDialog
          title="Turn two-factor authentication off?"
          text="After that, the password alone is enough to sign in."
          label="Turn off"
          busyLabel="Turning off…"
          email={account.email}
          onClose={() => setAsking(undefined)}
          action={async (proof) => {
            await call("post", "/v1/auth/totp/disable", "session", proof);
            setAsking(undefined);
            await onChanged();
          }}
        />
      )}
    </Frame>
  );
}

function Frame({ children }: { children: ComponentChildren }) {
  return (
    <section class="card" aria-labelledby="two-factor">
      <h2 id="two-factor">Two-factor authentication</h2>
      {children}
    </section>
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
  const submission = useSubmission(() => action({ password: proof.password, totp_code: proof.code.trim() }));
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <Form
        submission={submission}
        check={() => proofMistakes(proof)}
        onMistakes={setMistakes}
        shownAtField={["wrong_password", "totp_invalid", "totp_required"]}
        label={label}
        busyLabel={busyLabel}
        secondary={
          <button type="button" class="button plain" onClick={onClose}>
            Cancel
          </button>
        }
      >
        <Proof proof={proof} email={email} mistakes={mistakes} problem={submission.problem} />
      </Form>
    </Dialog>
  );
}
