// Recent changes of the account that a reset can still take back, with one button that stops them.
import { type Schemas, call } from "../api/client";
import { eventTitle } from "../words/security-events";
import { moment } from "../words/times";
import { Form, useSubmission } from "./form";
import { Notice } from "./notice";

interface OpenChangesProps {
  account: Schemas["Account"];
  onStopped: () => Promise<void>;
}

export function OpenChanges({ account, onStopped }: OpenChangesProps) {
  const submission = useSubmission(async () => {
    await call("post", "/v1/me/stop-changes", "session");
    await onStopped();
  });
  const { open_changes: changes, recovery_at } = account;
  if (changes.length === 0) return null;
  return (
    <Notice tone="unknown" title="Was this you?">
      {recovery_at != null && (
        <p>
          Someone told us that they’ve lost their phone and recovery codes. On {moment(recovery_at)}{" "}
          two-factor authentication will be turned off, your password will be void and every session will end.
        </p>
      )}
      <ul>
        {changes.map(({ kind, at }) => (
          <li key={kind + at}>
            {eventTitle(kind, 1)}, {moment(at)}
          </li>
        ))}
      </ul>
      <p>
        If it wasn’t, stop it: every other session ends, and a new address or a recovery that waits is
        dropped. Then <a href="/forgot">reset your password</a>, which takes these changes back.
      </p>
      <Form submission={submission} label="Stop these changes" busyLabel="Stopping…" />
    </Notice>
  );
}
