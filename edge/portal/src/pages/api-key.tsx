// The API key: shown on request, and replaced.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { replaceKey, useSession } from "../session";
import { Actions } from "../ui/actions";
import { Button } from "../ui/button";
import { Card } from "../ui/card";
import { KeyBox } from "../ui/key-box";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { DEVELOPERS, Sections } from "../ui/sections";
import { moment, utcDay } from "../words/times";
import { KeyProofDialog } from "./api-key/key-proof-dialog";
import { NamedKeys } from "./api-key/named-keys";
import { RotateDialog } from "./api-key/rotate-dialog";
import { ShowDialog } from "./api-key/show-dialog";

export default function ApiKey() {
  const session = useSession();
  const apiKey = session?.api_key;
  const [rotating, setRotating] = useState(false);
  const [overlapping, setOverlapping] = useState(false);
  const [oldUntil, setOldUntil] = useState<string>();
  const [showing, setShowing] = useState(false);
  const [rotated, setRotated] = useState(false);
  const account = useResource(() => call("get", "/v1/me", "session"));
  // The key may have been replaced in another browser since this browser received it.
  const works = useResource(async () => apiKey === undefined || (await isAlive(apiKey)));
  return (
    <Page
      title="API key"
      sections={<Sections label="Developers" links={DEVELOPERS} />}
      lead="Your programs send it in the X-API-Key header. Anyone who has it can use your checks: keep it out of web pages, apps and repositories."
    >
      {rotated && (
        <Notice tone="good" title="Your API key has been replaced.">
          <p>
            {oldUntil === undefined
              ? "The old key has stopped working. Put this one into every program that uses it."
              : `The old key works until ${moment(oldUntil)}. Until then, put this one into every program that uses it.`}
          </p>
        </Notice>
      )}
      {works.data === false && !rotated && (
        <Notice tone="unknown" title="This key no longer works.">
          <p>
            It has been replaced or deactivated since you signed in here. Sign out and back in to see your
            current key.
          </p>
        </Notice>
      )}
      <Card id="key" title="Your key" split>
        {apiKey !== undefined ? (
          <KeyBox key={apiKey} apiKey={apiKey} />
        ) : (
          <>
            <p>This browser doesn’t store your key, so a reload forgets it. Your programs keep working.</p>
            <Actions>
              <Button kind="primary" onClick={() => setShowing(true)}>
                Show key…
              </Button>
            </Actions>
            {showing && <ShowDialog email={session?.email ?? ""} onClose={() => setShowing(false)} />}
          </>
        )}
        {account.problem === undefined && (
          <Loaded resource={account} skeleton={["line"]} what="your key’s last use">
            {({ key_last_used }) => <LastUse date={key_last_used ?? null} />}
          </Loaded>
        )}
        <p class="quiet">
          The <a href="/docs">API reference</a> has examples that contain your key when you copy them.
        </p>
      </Card>
      <Card id="rotate" title="Replace it" split>
        <p>
          If someone may have seen the key, replace it now. The old one stops working immediately, and
          programs that use it fail until they have the new one. Otherwise the old one can work for another
          day.
        </p>
        <Loaded resource={account} skeleton={["line"]} what="your account">
          {({ two_factor }) => (
            <>
              <Actions>
                <Button onClick={() => setRotating(true)}>Replace key…</Button>
                <Button onClick={() => setOverlapping(true)}>Replace over a day…</Button>
              </Actions>
              {rotating && (
                <RotateDialog
                  twoFactor={two_factor}
                  onClose={() => setRotating(false)}
                  onRotated={() => {
                    setRotating(false);
                    setOldUntil(undefined);
                    setRotated(true);
                    void account.reload();
                  }}
                />
              )}
              {overlapping && (
                <KeyProofDialog
                  title="Replace your API key over a day?"
                  text="You get a new key. The old one works for another day, so that you can change your programs."
                  label="Replace key"
                  busyLabel="Replacing…"
                  twoFactor={two_factor}
                  email={session?.email ?? ""}
                  onClose={() => setOverlapping(false)}
                  act={async (proof) => {
                    const { api_key, key } = await call("post", "/v1/keys/{id}/replace", "session", proof, {
                      id: "own",
                    });
                    replaceKey(api_key);
                    setOverlapping(false);
                    setOldUntil(key.previous_until ?? undefined);
                    setRotated(true);
                    void account.reload();
                  }}
                />
              )}
            </>
          )}
        </Loaded>
      </Card>
      <NamedKeys twoFactor={account.data?.two_factor ?? false} />
    </Page>
  );
}

function LastUse({ date }: { date: string | null }) {
  if (date === null) return <p class="quiet">No check or scan has used this key yet.</p>;
  return (
    <p class="quiet">
      Last used on <time dateTime={date}>{utcDay(date)}</time>.
    </p>
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
