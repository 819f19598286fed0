// Cloudflare Turnstile, if the operator has configured it. Most readers don't notice Turnstile. The token is
// sent with the form; if no token arrives in time, the form is sent without it.
import { useEffect, useRef } from "preact/hooks";
import { trustedScript } from "../trusted-script";

interface Turnstile {
  render: (container: HTMLElement, options: Record<string, unknown>) => string | undefined;
  remove: (widget: string) => void;
}

const SCRIPT = "https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit";

let loading: Promise<Turnstile | undefined> | undefined;

function loaded(): Promise<Turnstile | undefined> {
  loading ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = trustedScript("rcpt-turnstile", SCRIPT) as string;
    script.onload = () => resolve((globalThis as { turnstile?: Turnstile }).turnstile);
    script.onerror = () => {
      // Lets the next form try again.
      loading = undefined;
      resolve(undefined);
    };
    document.head.append(script);
  });
  return loading;
}

interface PersonCheckProps {
  /** Receives a token, valid once and for a few minutes, and `undefined` when it expires. */
  onToken: (token: string | undefined) => void;
}

export function PersonCheck({ onToken }: PersonCheckProps) {
  const container = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (TURNSTILE_SITE_KEY === "") return undefined;
    let isMounted = true;
    let remove = () => {};
    void loaded().then((turnstile) => {
      if (!isMounted || container.current === null || turnstile === undefined) return;
      const widget = turnstile.render(container.current, {
        sitekey: TURNSTILE_SITE_KEY,
        appearance: "interaction-only",
        callback: onToken,
        "expired-callback": () => onToken(undefined),
        // Handled here, so that the widget doesn't throw.
        "error-callback": () => true,
      });
      if (widget !== undefined) remove = () => turnstile.remove(widget);
    });
    return () => {
      isMounted = false;
      remove();
    };
  }, []);
  return TURNSTILE_SITE_KEY === "" ? null : <div ref={container} />;
}
