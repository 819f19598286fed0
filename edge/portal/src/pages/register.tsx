import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { Page } from "../ui/page";
import { NewPassword, emailMistake, passwordMistake } from "../ui/password-field";
import { Inbox } from "../ui/inbox";

const AT_FIELD = ["invalid_email", "invalid_password"];

export default function Register() {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [mailed, setMailed] = useState(false);
  const submission = useSubmission(async () => {
    await call("post", "/v1/auth/register", "anyone", { email: email.trim(), password });
    setMailed(true);
  });
  const { problem } = submission;
  const refused = (code: string) =>
    problem?.cause.kind === "refused" && problem.code === code ? problem.cause.detail : undefined;

  if (mailed) {
    return (
      <Page key="inbox" title="Check your inbox" layout="narrow">
        <Inbox
          email={email.trim()}
          what="a link to confirm your address"
          validity="24 hours"
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
      title="Create your account"
      layout="narrow"
      lead="Free: 100 checks a day, and 50 more to begin with."
    >
      <Form
        submission={submission}
        check={() => ({ email: emailMistake(email), password: passwordMistake(password) })}
        onMistakes={setMistakes}
        shownAtField={AT_FIELD}
        label="Create account"
        busyLabel="Creating…"
      >
        <Field
          label="Email address"
          name="email"
          type="email"
          autocomplete="email"
          value={email}
          onValue={setEmail}
          hint="We mail you a link to confirm it."
          mistake={mistakes.email ?? refused("invalid_email")}
        />
        <NewPassword
          label="Password"
          name="password"
          value={password}
          email={email}
          onValue={setPassword}
          mistake={mistakes.password ?? refused("invalid_password")}
        />
      </Form>
      <p class="aside">
        Do you have an account? <a href="/sign-in">Sign in</a>
      </p>
    </Page>
  );
}
