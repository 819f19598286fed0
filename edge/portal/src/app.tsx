// The page frame, and the page of the current URL for people who may see it.
import { LocationProvider, Route, Router, useLocation } from "preact-iso/router";
import { useEffect } from "preact/hooks";
import { CONTENTS } from "./contents";
import { OURS, nextPage, signInPage } from "./navigation";
import { PAGES, type Page } from "./pages";
import * as session from "./session";
import { LazyPage, Waiting } from "./ui/lazy-page";
import { Shell } from "./ui/shell";

export function App() {
  return (
    <LocationProvider scope={OURS}>
      <Frame />
    </LocationProvider>
  );
}

function Frame() {
  const { path } = useLocation();
  return (
    <Shell path={path}>
      <Router>
        {ROUTES.map(({ path, component }) =>
          path === null ? (
            <Route default component={component} />
          ) : (
            <Route path={path} component={component} />
          ),
        )}
      </Router>
    </Shell>
  );
}

/** A component per page, by which the router distinguishes pages. */
const ROUTES = PAGES.map((page) => ({
  path: page.path,
  component: () => <Guarded page={page} />,
}));

function Guarded({ page }: { page: Page }) {
  const { route } = useLocation();
  const member = session.useSession() !== undefined;
  const elsewhere = redirection(page, member);
  useEffect(() => {
    if (elsewhere !== undefined) route(elsewhere, true);
  }, [elsewhere]);
  const layout = page.file === "guest" ? "narrow" : "wide";
  // Shown while redirecting: members to a wide page, guests to a narrow one.
  if (elsewhere !== undefined) return <Waiting layout={member ? "wide" : "narrow"} />;
  const content = CONTENTS[page.name];
  return "here" in content ? <content.here /> : <LazyPage load={content.load} layout={layout} />;
}

function redirection(page: Page, member: boolean): string | undefined {
  if (page.access === "guest" && member) return nextPage();
  if (page.access !== "member" || member) return undefined;
  switch (session.lastEnding()) {
    case "deleted":
      return "/deleted";
    case "signed-out":
    case "everywhere":
      return "/sign-in";
    default:
      return signInPage();
  }
}
