// Makes a new address the account's. A click is required, because mail scanners open links.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { BrokenLink } from "../ui/mailed-link";
import { Lead, Page } from "../ui/page";

export default function ConfirmAddress() {
  const [token] = useState(mailedToken);
  const [email, setEmail] = useState<string>();
  const [password, setPassword] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    if (token === undefined) return;
    setEmail((await call("post", "/v1/auth/confirm-email", "anyone", { token, password })).email);
    forgetMailedToken();
  });
  if (email !== undefined) {
    return (
      <Page key="done" title="Your email address has been changed" layout="narrow">
        <Lead>
          From now on you sign in with <strong class="address">{email}</strong>. Your password, sessions and
          API key stay as they are.
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
      lead="It becomes the address of your rcpt account. The previous one gets an email and can undo the change for a week."
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
