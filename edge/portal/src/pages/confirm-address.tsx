// Agrees to a new address of the account. A click is required, because mail scanners open links.
import { useState } from "preact/hooks";
import { type Schemas, call } from "../api/client";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { BrokenLink } from "../ui/mailed-link";
import { Lead, Page } from "../ui/page";
import { moment } from "../words/times";

export default function ConfirmAddress() {
  const [token] = useState(mailedToken);
  const [agreed, setAgreed] = useState<Schemas["ChangedEmail"]>();
  const [password, setPassword] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    if (token === undefined) return;
    const answer = await call("post", "/v1/auth/confirm-email", "anyone", { token, password });
    setAgreed(answer);
    forgetMailedToken();
  });
  if (agreed !== undefined) {
    return (
      <Page key="done" title="Your email address will be changed" layout="narrow">
        <Lead>
          From {moment(agreed.changes_at)} on you sign in with <strong class="address">{agreed.email}</strong>
          . Your password, sessions and API key stay as they are.
        </Lead>
        <Actions>
          <LinkButton href="/settings" kind="primary">
            Go to the settings
          </LinkButton>
        </Actions>
      </Page>
    );
  }
  if (token === undefined || submission.problem?.code === "invalid_token") {
    return (
      <BrokenLink broken={token === undefined ? "incomplete" : "useless"} validity="24 hours">
        <Actions>
          <LinkButton href="/settings" kind="primary">
            Go to the settings
          </LinkButton>
        </Actions>
      </BrokenLink>
    );
  }
  return (
    <Page
      key="form"
      title="Use this email address?"
      layout="narrow"
      lead="It becomes the address of your rcpt account, three days after the current one was told."
    >
      <Form
        submission={submission}
        check={() => ({ password: password === "" ? "Enter your password." : undefined })}
        onMistakes={setMistakes}
        shownAtField={["wrong_password"]}
        label="Use this address"
        busyLabel="Changing…"
      >
        <Field
          label="Password of your account"
          name="password"
          type="password"
          autocomplete="current-password"
          value={password}
          onValue={setPassword}
          mistake={mistakes.password ?? submission.told(["wrong_password"])}
        />
      </Form>
    </Page>
  );
}
