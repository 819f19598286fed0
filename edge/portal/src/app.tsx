import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { go, nextPage, usePath } from "./navigation";
import { type Page, pageAt } from "./pages";
import { useSession } from "./session";
import { Button } from "./ui/button";
import { Shell } from "./ui/shell";

/** The page of the address bar, for who may see it. */
export function App() {
  const path = usePath();
  const member = useSession() !== undefined;
  const page = pageAt(path);
  const elsewhere = redirection(page, member);
  useEffect(() => {
    if (elsewhere !== undefined) go(elsewhere, { replace: true });
  }, [elsewhere]);
  return <Shell path={path}>{elsewhere === undefined ? <Current page={page} /> : <Waiting />}</Shell>;
}

function redirection(page: Page, member: boolean): string | undefined {
  if (page.access === "member" && !member) return `/sign-in?next=${page.path}`;
  if (page.access === "guest" && member) return nextPage();
  return undefined;
}

function Current({ page }: { page: Page }) {
  const { content } = page;
  useEffect(() => {
    if (location.hash === "") window.scrollTo(0, 0);
  }, [page]);
  return "here" in content ? (
    <content.here key={page.name} />
  ) : (
    <Loading key={page.name} load={content.load} />
  );
}

function Loading({ load }: { load: () => Promise<{ default: ComponentType }> }) {
  const [loaded, setLoaded] = useState<{ Component: ComponentType }>();
  const [failed, setFailed] = useState(false);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setFailed(false);
    load().then(
      ({ default: Component }) => setLoaded({ Component }),
      () => setFailed(true),
    );
  }, [attempt]);
  if (failed) return <NotLoaded onRetry={() => setAttempt(attempt + 1)} />;
  return loaded === undefined ? <Waiting /> : <loaded.Component />;
}

function Waiting() {
  return (
    <main class="page narrow" aria-busy="true">
      <div class="skeleton" role="status" aria-label="Loading the page">
        <div class="bone line" />
        <div class="bone block" />
      </div>
    </main>
  );
}

/** The network is gone, or a newer portal has replaced the files of this one. */
function NotLoaded({ onRetry }: { onRetry: () => void }) {
  return (
    <main class="page narrow" id="content">
      <section class="unavailable" role="alert">
        <h1>This page could not be loaded</h1>
        <p>Check your connection and try again. If that does not help, load the whole site again.</p>
        <div class="actions">
          <Button kind="primary" onClick={onRetry}>
            Try again
          </Button>
          <Button onClick={() => location.reload()}>Load the site again</Button>
        </div>
      </section>
    </main>
  );
}
