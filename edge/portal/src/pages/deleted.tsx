// The page after the deletion of an account.
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Page } from "../ui/page";

export default function Deleted() {
  return (
    <Page
      title="Your account has been deleted"
      layout="narrow"
      lead="It’s gone, and its API key has stopped working. Thanks for trying rcpt."
    >
      <Actions>
        <LinkButton href="/" kind="primary">
          Go to the home page
        </LinkButton>
      </Actions>
    </Page>
  );
}
