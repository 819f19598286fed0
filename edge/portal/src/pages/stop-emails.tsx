// Stops the emails that other people cause to a mailbox. A click is required, because mail scanners
// open links.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { mailedToken } from "../mailed-token";
import { Form, useSubmission } from "../ui/form";
import { Lead, Notes, Page } from "../ui/page";

export default function StopEmails() {
  const [token] = useState(mailedToken);
  const [stopped, setStopped] = useState(false);
  const submission = useSubmission(async () => {
    if (token === undefined) return;
    await call("post", "/v1/auth/stop-emails", "anyone", { token });
    setStopped(true);
  });
  if (token === undefined || submission.problem?.code === "invalid_token") {
    return (
      <Page key="broken" title="This link is incomplete" layout="narrow">
        <Lead>Open it again from the email, or copy all of it into the address bar.</Lead>
      </Page>
    );
  }
  if (stopped) {
    return (
      <Page key="stopped" title="You won’t get these emails for 30 days" layout="narrow">
        <Lead>Do you want an account after all? Sign up as usual: the link you ask for still comes.</Lead>
      </Page>
    );
  }
  return (
    <Page
      key="form"
      title="Stop these emails?"
      layout="narrow"
      lead="Someone typed your email address at rcpt. For 30 days we won’t tell you when that happens again."
    >
      <Form submission={submission} label="Stop these emails" busyLabel="Stopping…">
        <Notes>
          <li>You still get the links you ask for yourself, such as one to set a new password.</li>
        </Notes>
      </Form>
    </Page>
  );
}
