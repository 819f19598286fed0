// An API key or another secret: masked until requested, and copied without being shown.
import { useState } from "preact/hooks";
import { Button } from "./button";
import { Copy } from "./copy";
import css from "./key-box.module.css";

/** Shown characters of a masked key, at each end. */
const PREFIX = 10;
const SUFFIX = 4;

/** Placeholder for an unknown key. */
export const NO_KEY = "rcpt_live_…";

export function masked(key: string): string {
  return `${key.slice(0, PREFIX)}${"•".repeat(12)}${key.slice(-SUFFIX)}`;
}

export function KeyBox({ apiKey, what = "API key" }: { apiKey: string; what?: string }) {
  const [shown, setShown] = useState(false);
  return (
    <div class={css.box}>
      <code
        class={css.key}
        data-part="key"
        data-shown={shown}
        aria-label={shown ? undefined : `${what}, hidden`}
        role={shown ? undefined : "img"}
      >
        {shown ? apiKey : masked(apiKey)}
      </code>
      <div class={css.actions}>
        <Button onClick={() => setShown(!shown)} label={`${shown ? "Hide" : "Show"} ${what}`}>
          {shown ? "Hide" : "Show"}
        </Button>
        <Copy text={apiKey} what={what} />
      </div>
    </div>
  );
}
