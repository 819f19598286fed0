import { Page } from "../ui/page";

export default function NotFound() {
  return (
    <Page
      title="Page not found"
      layout="narrow"
      lead="There is nothing at this address. It may be mistyped, or the link that brought you here is out of date."
    >
      <p class="actions">
        <a class="button primary" href="/">
          Go to the start page
        </a>
        <a class="button plain" href="/docs">
          API reference
        </a>
      </p>
    </Page>
  );
}
