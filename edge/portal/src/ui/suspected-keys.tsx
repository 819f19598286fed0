// The keys that a reset ends, unless they are unticked: programs may use them.
import { useEffect, useState } from "preact/hooks";
import { type Schemas, call } from "../api/client";
import { Problem } from "../api/problem";
import { moment } from "../words/times";
import { Tick } from "./field";
import { Notice } from "./notice";

type Preview = Schemas["ResetPreview"];

/** What a reset would do; undefined until it's known, and where the link doesn't work. */
export function useResetPreview(token: string | undefined): Preview | undefined {
  const [preview, setPreview] = useState<Preview>();
  useEffect(() => {
    if (token === undefined) return;
    call("post", "/v1/auth/reset-password/show", "anyone", { token }).then(setPreview, (error: unknown) => {
      // The form tells of a link that doesn't work.
      if (!(error instanceof Problem)) throw error;
    });
  }, [token]);
  return preview;
}

interface SuspectedKeysProps {
  preview: Preview;
  kept: readonly string[];
  onKept: (kept: string[]) => void;
}

export function SuspectedKeys({ preview: { keys, passkeys }, kept, onKept }: SuspectedKeysProps) {
  if (keys.length === 0 && passkeys === 0) return null;
  return (
    <Notice tone="plain" title="This also takes back recent changes.">
      {passkeys > 0 && <p>Passkeys of the last days are removed. You can add yours again.</p>}
      {keys.length > 0 && <p>These keys stop working. Untick a key only if nobody else can have it.</p>}
      {keys.map(({ id, at }) => (
        <Tick
          key={id}
          name={id}
          label={`${id === "own" ? "Your API key" : `Key ${id}`}, made or replaced ${moment(at)}`}
          checked={!kept.includes(id)}
          onChecked={(ticked) => onKept(ticked ? kept.filter((one) => one !== id) : [...kept, id])}
        />
      ))}
      <p class="quiet">Webhook, sign-up guard and name stay as they are.</p>
    </Notice>
  );
}
