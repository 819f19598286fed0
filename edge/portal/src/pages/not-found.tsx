// The page for every path without a page of its own.
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { Page } from "../ui/page";

export default function NotFound() {
  return (
    <Page
      title="Page not found"
      layout="narrow"
      lead="There’s nothing here. The address may be mistyped, or the link is out of date."
    >
      <Actions>
        <LinkButton href="/" kind="primary">
          Go to the home page
        </LinkButton>
        <LinkButton href="/docs">API reference</LinkButton>
      </Actions>
    </Page>
  );
}
