// Ends every session of the account.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Form, useSubmission } from "../../ui/form";

export function Sessions() {
  const [asking, setAsking] = useState(false);
  const submission = useSubmission(async () => {
    await call("post", "/v1/auth/sign-out-everywhere", "session");
    session.end("everywhere");
  });
  return (
    <Card id="sessions" title="Sessions" split>
      <p>Signs you out in this browser and everywhere else. Your API key keeps working.</p>
      <Actions>
        <Button onClick={() => setAsking(true)}>Sign out everywhere…</Button>
      </Actions>
      {asking && (
        <Dialog title="Sign out everywhere?" onClose={() => setAsking(false)}>
          <p>You’ll have to sign in again here, too.</p>
          <Form
            submission={submission}
            label="Sign out everywhere"
            busyLabel="Signing out…"
            secondary={<Button onClick={() => setAsking(false)}>Stay signed in</Button>}
          />
        </Dialog>
      )}
    </Card>
  );
}
