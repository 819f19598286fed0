import { useEffect, useState } from "preact/hooks";
import type { components } from "./api/schema";

/** What sign-in gave: in memory and, for reloads of this one tab, in `sessionStorage`. */
export type Session = components["schemas"]["SessionCredentials"];

/** Why there is no session any more; told on the sign-in page. */
export type Ending = "expired" | "signed-out" | "everywhere" | "deleted";

const STORED = "rcpt.session";
const listeners = new Set<() => void>();
let session = restored();
let ending: Ending | undefined;

export function current(): Session | undefined {
  return session;
}

/** Why the last session ended, until the next one starts. */
export function lastEnding(): Ending | undefined {
  return ending;
}

export function start(credentials: Session): void {
  ending = undefined;
  change(credentials);
}

/** The session goes on with another API key. */
export function replaceKey(apiKey: string): void {
  if (session !== undefined) change({ ...session, api_key: apiKey });
}

export function end(why: Ending): void {
  if (session === undefined) return;
  ending = why;
  change(undefined);
}

/** The session, followed as it changes. */
export function useSession(): Session | undefined {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return session;
}

function change(to: Session | undefined): void {
  session = to;
  try {
    if (to === undefined) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, JSON.stringify(to));
  } catch {
    // Storage is full or forbidden: the session then lives in memory alone.
  }
  for (const listener of listeners) listener();
}

function restored(): Session | undefined {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "null");
    const whole =
      typeof stored === "object" &&
      stored !== null &&
      "token" in stored &&
      "api_key" in stored &&
      "email" in stored;
    return whole ? (stored as Session) : undefined;
  } catch {
    return undefined;
  }
}
