// The start page.
import { useSession } from "../session";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Page } from "../ui/page";

export default function Home() {
  const member = useSession() !== undefined;
  return (
    <Page
      title="Can this address receive mail?"
      lead="rcpt connects to the address’s mail server the way a real email would, and hangs up before sending anything."
    >
      <Actions>
        {member ? (
          <LinkButton href="/overview" kind="primary">
            Check an address
          </LinkButton>
        ) : (
          <LinkButton href="/register" kind="primary">
            Create a free account
          </LinkButton>
        )}
        <LinkButton href="/docs">Read the API reference</LinkButton>
      </Actions>
    </Page>
  );
}
