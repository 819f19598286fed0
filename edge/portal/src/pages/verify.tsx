import { useState } from "preact/hooks";
import { call } from "../api/client";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import { go } from "../navigation";
import * as session from "../session";
import { Form, useSubmission } from "../ui/form";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";

/** A button confirms, not the visit: mail scanners open links, and a link works once. */
export default function Verify() {
  const [token] = useState(mailedToken);
  const submission = useSubmission(async () => {
    const credentials = await call("post", "/v1/auth/verify-email", "anyone", { token: token! });
    forgetMailedToken();
    session.start(credentials);
    go("/overview", { replace: true, state: "confirmed" });
  });
  const useless = submission.problem?.code === "invalid_token";

  if (token === undefined || useless) {
    return (
      <Page
        key="useless"
        title={useless ? "This link does not work" : "This link is incomplete"}
        layout="narrow"
      >
        {useless ? (
          <>
            <Notice tone="bad">
              <p>The link was used already, was replaced by a newer one, or is older than 24 hours.</p>
            </Notice>
            <ul class="notes">
              <li>
                If you confirmed your address before, just <a href="/sign-in">sign in</a>.
              </li>
              <li>If you asked for more than one mail, open the link in the newest.</li>
              <li>
                Otherwise <a href="/register">register again</a> with the same address: you get a new link.
              </li>
            </ul>
          </>
        ) : (
          <>
            <p class="lead">
              Open it again from the mail, or copy all of it into the address bar. Links work until they are
              used, for 24 hours.
            </p>
            <p>
              No mail? <a href="/register">Register again</a> with the same address to get a new link. If you
              have confirmed your address already, <a href="/sign-in">sign in</a>.
            </p>
          </>
        )}
      </Page>
    );
  }
  return (
    <Page
      key="form"
      title="Confirm your email address"
      layout="narrow"
      lead="Press the button to confirm that this address is yours. You are then signed in."
    >
      <Form
        submission={submission}
        shownAtField={["invalid_token"]}
        label="Confirm my address"
        busyLabel="Confirming…"
      >
        {null}
      </Form>
    </Page>
  );
}
