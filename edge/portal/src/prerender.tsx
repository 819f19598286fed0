// Runs in the build, not in browsers: renders each page's document for guests.
import { render } from "preact-render-to-string";
import { App } from "./app";
import { CONTENTS } from "./contents";
import { OURS } from "./navigation";
import { PAGES, type Page } from "./pages";
import { Basics } from "./pages/docs/basics";
import { type Document, typeName } from "./pages/docs/document";
import { ErrorCodes, Reasons, Statuses } from "./pages/docs/tables";
import { LocationProvider } from "preact-iso/router";
import { Main } from "./ui/page";
import { Shell } from "./ui/shell";

export { PAGES, typeName };

/** Returns whether the document contains the whole page, not only its frame. */
export function isDrawn(page: Page): boolean {
  return "here" in CONTENTS[page.name];
}

/** Returns the HTML inside `#portal`. */
export function draw(page: Page, site: string): string {
  Object.assign(globalThis, { location: new URL(page.path ?? "/404", site) });
  return render(isDrawn(page) ? <App /> : <Empty page={page} />);
}

/** Returns the HTML of a page without its frame; null if rendering needs a browser. */
export async function readable(page: Page, site: string): Promise<string | null> {
  Object.assign(globalThis, { location: new URL(page.path ?? "/404", site) });
  const content = CONTENTS[page.name];
  const Content = "here" in content ? content.here : await content.load();
  try {
    return render(
      <LocationProvider scope={OURS}>
        <Content />
      </LocationProvider>,
    );
  } catch {
    return null;
  }
}

/** Returns the tables of the reference and its conventions as HTML. */
export function referenceTables(description: Document): string {
  return render(
    <>
      <Statuses />
      <Reasons document={description} open />
      <Basics>
        <ErrorCodes document={description} open />
      </Basics>
    </>,
  );
}

/** Draws the replacement for a page that needs JavaScript. */
function Empty({ page }: { page: Page }) {
  return (
    <LocationProvider scope={OURS}>
      <Shell path={page.path ?? ""}>
        <Main layout="narrow">
          <noscript>
            <h1>{page.title}</h1>
            <p>This page needs JavaScript. Please turn it on for this site and reload the page.</p>
            <p>
              Everything here also works without a browser, over the API. Its{" "}
              <a href={`${API_URL}/v1/openapi.json`}>OpenAPI document</a> describes how.
            </p>
          </noscript>
        </Main>
      </Shell>
    </LocationProvider>
  );
}
