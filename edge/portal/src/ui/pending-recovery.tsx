// Shows a pending recovery of the account by the operator, and lets the owner stop it.
import { type Schemas, call } from "../api/client";
import { moment } from "../words/times";
import { Form, useSubmission } from "./form";
import { Notice } from "./notice";

interface PendingRecoveryProps {
  account: Schemas["Account"];
  onStopped: () => Promise<void>;
}

export function PendingRecovery({ account, onStopped }: PendingRecoveryProps) {
  const submission = useSubmission(async () => {
    await call("delete", "/v1/me/recovery", "session");
    await onStopped();
  });
  if (account.recovery_at == null) return null;
  return (
    <Notice tone="unknown" title="Your account is being recovered.">
      <p>
        Someone told us that they’ve lost their phone and recovery codes. On {moment(account.recovery_at)}{" "}
        two-factor authentication will be turned off, your password will be void and every session will end.
        If it wasn’t you, stop it.
      </p>
      <Form submission={submission} label="Stop the recovery" busyLabel="Stopping…" />
    </Notice>
  );
}
