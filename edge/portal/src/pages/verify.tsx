// Confirms an email address. A button does it, not the visit: mail scanners open links, and a link works
// once.
import { call } from "../api/client";
import { Form } from "../ui/form";
import { BrokenLink, useMailedLink } from "../ui/mailed-link";
import { Notes, Page } from "../ui/page";

export default function Verify() {
  const { broken, submission } = useMailedLink("confirmed", (token) =>
    call("post", "/v1/auth/verify-email", "anyone", { token }),
  );
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
      lead="Press the button to confirm that this address is yours. You’ll be signed in."
    >
      <Form
        submission={submission}
        shownAtField={["invalid_token"]}
        label="Confirm my address"
        busyLabel="Confirming…"
      />
    </Page>
  );
}
