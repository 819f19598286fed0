// Confirms an email address. A click is required, because mail scanners open links, and a link
// works once. The password is required, so that people don't confirm an account that a stranger has
// registered with their address.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Form, type Mistakes } from "../ui/form";
import { BrokenLink, useMailedLink } from "../ui/mailed-link";
import { Notes, Page } from "../ui/page";
import { NewPassword, RepeatedPassword, passwordMistake, repetitionMistake } from "../ui/password-field";

export default function Verify() {
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const { broken, submission } = useMailedLink("confirmed", (token) => {
    const body = { token, password };
    return call("post", "/v1/auth/verify-email", "anyone", body);
  });
  if (broken !== undefined) {
    return (
      <BrokenLink broken={broken} validity="24 hours">
        <Notes>
          <li>
            Have you confirmed your address already? Then just <a href="/sign-in">sign in</a>.
          </li>
          <li>Did you ask for more than one email? Then open the link in the newest.</li>
          <li>
            Otherwise <a href="/register">register again</a> with the same address to get a new link.
          </li>
        </Notes>
      </BrokenLink>
    );
  }
  return (
    <Page
      key="form"
      title="Confirm your email address"
      layout="narrow"
      lead="Choose your password to confirm that this address is yours. You’ll be signed in."
    >
      <Form
        submission={submission}
        check={() => ({
          password: passwordMistake(password),
          again: repetitionMistake(password, again),
        })}
        onMistakes={setMistakes}
        shownAtField={["invalid_token", "invalid_password"]}
        label="Confirm my address"
        busyLabel="Confirming…"
      >
        <NewPassword
          label="Password"
          name="password"
          email=""
          value={password}
          onValue={setPassword}
          hint="The one from your sign-up, or a new one. It replaces the one before."
          mistake={mistakes.password ?? submission.told(["invalid_password"])}
        />
        <RepeatedPassword label="Password again" value={again} onValue={setAgain} mistake={mistakes.again} />
      </Form>
    </Page>
  );
}
