import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Form, useSubmission } from "../../ui/form";

export function Sessions() {
  const [asking, setAsking] = useState(false);
  const submission = useSubmission(async () => {
    await call("post", "/v1/auth/sign-out-everywhere", "session");
    session.end("everywhere");
  });
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <p>Ends every session of your account, in this browser and all others. Your API key goes on working.</p>
      <div class="actions">
        <Button onClick={() => setAsking(true)}>Sign out everywhere…</Button>
      </div>
      {asking && (
        <Dialog title="Sign out everywhere?" onClose={() => setAsking(false)}>
          <p>You will have to sign in again here, too.</p>
          <Form
            submission={submission}
            label="Sign out everywhere"
            busyLabel="Signing out…"
            secondary={
              <button type="button" class="button plain" onClick={() => setAsking(false)}>
                Stay signed in
              </button>
            }
          >
            {null}
          </Form>
        </Dialog>
      )}
    </section>
  );
}
