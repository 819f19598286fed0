// The session that sign-in gave: kept in this browser and shared by its tabs, so that a link opened in a
// new tab is signed in, and signing out in one tab signs out all of them.
import { useEffect, useState } from "preact/hooks";
import type { components } from "./api/schema";

export type Session = components["schemas"]["SessionCredentials"];

/** Why there is no session any more; the sign-in page says it. */
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
  useEffect(() => listen(() => redraw({})), []);
  return session;
}

/** Calls back whenever the session changes; the result ends that. */
export function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Takes over what other tabs of this browser do. */
export function followOtherTabs(): void {
  window.addEventListener("storage", ({ key }) => {
    // A null key means that everything was removed.
    if (key !== null && key !== STORED) return;
    const before = session;
    session = restored();
    ending = before !== undefined && session === undefined ? "signed-out" : undefined;
    announce();
  });
}

function change(to: Session | undefined): void {
  session = to;
  try {
    if (to === undefined) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, JSON.stringify(to));
  } catch {
    // Storage is full or forbidden: the session then lives in memory alone.
  }
  announce();
}

function announce(): void {
  for (const listener of listeners) listener();
}

function restored(): Session | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? "null");
    return isSession(stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}

function isSession(stored: unknown): stored is Session {
  return (
    typeof stored === "object" &&
    stored !== null &&
    "token" in stored &&
    "api_key" in stored &&
    "email" in stored
  );
}
