// A page whose code is fetched when it is opened.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Actions } from "./actions";
import { Button } from "./button";
import { Main } from "./page";
import { Skeleton } from "./resource";
import { UnavailableFrame } from "./unavailable";

interface LazyPageProps {
  load: () => Promise<ComponentType>;
  /** Layout of the page, so that nothing moves when it is loaded. */
  layout: "narrow" | "wide";
}

export function LazyPage({ load, layout }: LazyPageProps) {
  const [loaded, setLoaded] = useState<{ Component: ComponentType }>();
  const [failed, setFailed] = useState(false);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    setFailed(false);
    load().then(
      (Component) => setLoaded({ Component }),
      () => setFailed(true),
    );
  }, [attempt]);
  if (failed) return <NotLoaded onRetry={() => setAttempt(attempt + 1)} />;
  return loaded === undefined ? <Waiting layout={layout} /> : <loaded.Component />;
}

export function Waiting({ layout = "narrow" }: { layout?: "narrow" | "wide" }) {
  return (
    <Main layout={layout} busy>
      <Skeleton label="Loading the page" bones={["line", "block"]} />
    </Main>
  );
}

/** Shown without a network, or after a newer portal has replaced this portal's files. */
function NotLoaded({ onRetry }: { onRetry: () => void }) {
  return (
    <Main layout="narrow">
      <UnavailableFrame heading={<h1>This page couldn’t be loaded</h1>}>
        <p>Check your connection and try again.</p>
        <Actions>
          <Button kind="primary" onClick={onRetry}>
            Try again
          </Button>
          <Button onClick={() => location.reload()}>Reload the site</Button>
        </Actions>
      </UnavailableFrame>
    </Main>
  );
}
