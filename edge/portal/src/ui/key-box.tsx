import { useState } from "preact/hooks";
import { Button } from "./button";
import { Copy } from "./copy";

/** As much of a key as is shown of a hidden one, at each end. */
const PREFIX = 10;
const SUFFIX = 4;

export function hidden(key: string): string {
  return `${key.slice(0, PREFIX)}${"•".repeat(12)}${key.slice(-SUFFIX)}`;
}

/** An API key: hidden until asked for, and copied without being shown. */
export function KeyBox({ apiKey }: { apiKey: string }) {
  const [shown, setShown] = useState(false);
  return (
    <div class="key-box">
      <code
        class="key"
        data-shown={shown}
        aria-label={shown ? undefined : "API key, hidden"}
        role={shown ? undefined : "img"}
      >
        {shown ? apiKey : hidden(apiKey)}
      </code>
      <div class="key-actions">
        <Button onClick={() => setShown(!shown)} label={`${shown ? "Hide" : "Show"} API key`}>
          {shown ? "Hide" : "Show"}
        </Button>
        <Copy text={apiKey} what="API key" />
      </div>
    </div>
  );
}
