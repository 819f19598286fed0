import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { useSession } from "../session";
import { Button } from "../ui/button";
import { KeyBox } from "../ui/key-box";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { RotateDialog } from "./api-key/rotate-dialog";

export default function ApiKey() {
  const apiKey = useSession()?.api_key ?? "";
  const [rotating, setRotating] = useState(false);
  const [rotated, setRotated] = useState(false);
  const account = useResource(() => call("get", "/v1/me", "session"));
  // The key came with sign-in; it may have been replaced since, in another window.
  const works = useResource(() => isAlive(apiKey));
  return (
    <Page
      title="API key"
      layout="sections"
      lead="Your programs send it in the X-API-Key header. Whoever has it can use your checks: keep it out of web pages, apps and repositories."
    >
      {rotated && (
        <Notice tone="good" title="Your API key is replaced.">
          <p>The old key stopped working at once. Put this one into every program that uses it.</p>
        </Notice>
      )}
      {works.data === false && !rotated && (
        <Notice tone="unknown" title="This key no longer works.">
          <p>
            It was replaced or deactivated since you signed in here. Sign out and in again to see the present
            one.
          </p>
        </Notice>
      )}
      <section class="card" aria-labelledby="key">
        <h2 id="key">Your key</h2>
        <KeyBox key={apiKey} apiKey={apiKey} />
        <p class="quiet">
          There are examples with your key in the <a href="/docs">API reference</a>.
        </p>
      </section>
      <section class="card" aria-labelledby="rotate">
        <h2 id="rotate">Replace it</h2>
        <p>
          Do this when somebody may have seen the key. The old one stops working at once, so programs that use
          it fail until they have the new one.
        </p>
        <Loaded resource={account} skeleton={["line"]} what="your account">
          {({ two_factor }) => (
            <>
              <div class="actions">
                <Button onClick={() => setRotating(true)}>Replace key…</Button>
              </div>
              {rotating && (
                <RotateDialog
                  twoFactor={two_factor}
                  onClose={() => setRotating(false)}
                  onRotated={() => {
                    setRotating(false);
                    setRotated(true);
                  }}
                />
              )}
            </>
          )}
        </Loaded>
      </section>
    </Page>
  );
}

async function isAlive(apiKey: string): Promise<boolean> {
  try {
    await call("get", "/v1/me/quota", { apiKey });
    return true;
  } catch (error) {
    if (error instanceof Problem && error.cause.kind === "refused" && error.cause.status === 401)
      return false;
    throw error;
  }
}
