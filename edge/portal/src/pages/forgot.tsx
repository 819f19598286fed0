import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { Inbox } from "../ui/inbox";
import { Page } from "../ui/page";
import { emailMistake } from "../ui/password-field";
import { tell } from "../words/problems";

export default function Forgot() {
  const [email, setEmail] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [mailed, setMailed] = useState(false);
  const submission = useSubmission(async () => {
    await call("post", "/v1/auth/forgot-password", "anyone", { email: email.trim() });
    setMailed(true);
  });
  const refused = submission.problem?.code === "invalid_email" ? tell(submission.problem) : undefined;

  if (mailed) {
    return (
      <Page key="inbox" title="Check your inbox" layout="narrow">
        <Inbox
          email={email.trim()}
          what="a link to set a new password, or a note that there is no account with this address"
          validity="one hour"
          submission={submission}
        >
          <button type="button" class="button link" onClick={() => setMailed(false)}>
            Use another address
          </button>
        </Inbox>
      </Page>
    );
  }
  return (
    <Page
      key="form"
      title="Forgot your password?"
      layout="narrow"
      lead="Tell us your address, and we mail you a link to set a new password."
    >
      <Form
        submission={submission}
        check={() => ({ email: emailMistake(email) })}
        onMistakes={setMistakes}
        shownAtField={["invalid_email"]}
        label="Mail me a link"
        busyLabel="Sending…"
      >
        <Field
          label="Email address"
          name="email"
          type="email"
          autocomplete="email"
          value={email}
          onValue={setEmail}
          mistake={mistakes.email ?? refused}
        />
      </Form>
      <p class="aside">
        Remembered it? <a href="/sign-in">Sign in</a>
      </p>
    </Page>
  );
}
