// The current session. The token is in this tab's storage, or in this browser's if the person stays signed in on this
// device; the API key is in memory only. Open tabs share the session: a page opened in a new tab is signed in, and
// signing out in one tab signs out all tabs.
import { useEffect, useState } from "preact/hooks";
import type { components } from "./api/schema";

export type Credentials = components["schemas"]["SessionCredentials"];

/** A session; its key is absent after a reload, unless another tab has it. */
export type Session = Omit<Credentials, "api_key"> & {
  api_key?: string;
  /** True if it outlives the tabs of this browser, until it expires. */
  stays?: boolean;
};

/** Reason why the session has ended, shown on the sign-in page. */
export type Ending = "expired" | "signed-out" | "everywhere" | "deleted";

/** Messages between tabs of this browser; they are stored nowhere. */
type Message =
  | { kind: "ask" }
  | { kind: "known" | "changed"; session: Session }
  | { kind: "ended"; token: string };

const STORED = "rcpt.session";
/** Prefix of all keys in the storage shared by this browser's tabs. */
const PREFIX = "rcpt.";
/** The database of what this browser keeps of lists (`pages/scans/list/kept.ts`). */
export const DATABASE = "rcpt";
const listeners = new Set<() => void>();
let session = restored();
let ending: Ending | undefined;
let channel: BroadcastChannel | undefined;

export function current(): Session | undefined {
  return session;
}

/** Returns why the last session ended, until the next one starts. */
export function lastEnding(): Ending | undefined {
  return ending;
}

/** Starts a session; one that replaces another, as after a new password, stays where that one stayed. */
export function start(credentials: Credentials, stays = session?.stays): void {
  ending = undefined;
  changeEverywhere(stays === true ? { ...credentials, stays } : credentials);
}

/** Follows a change of the account's address. */
export function rename(email: string): void {
  if (session !== undefined && session.email !== email) changeEverywhere({ ...session, email });
}

/** Replaces the session's API key. */
export function replaceKey(apiKey: string): void {
  if (session === undefined) return;
  changeEverywhere({ ...session, api_key: apiKey });
}

export function end(why: Ending): void {
  if (session === undefined) return;
  const { token } = session;
  ending = why;
  change(undefined);
  if (why !== "expired") forgetEverything();
  channel?.postMessage({ kind: "ended", token } satisfies Message);
}

/** Returns the session, and redraws the component when it changes. */
export function useSession(): Session | undefined {
  const [, redraw] = useState({});
  const drawn = session;
  useEffect(() => {
    // Another tab may have responded since the page was drawn.
    if (session !== drawn) redraw({});
    return listen(() => redraw({}));
  }, []);
  return drawn;
}

/** Calls `listener` on each change of the session; the returned function removes `listener`. */
export function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Adopts the session of this browser's other tabs, and follows its changes. */
export function followOtherTabs(): void {
  if (typeof BroadcastChannel === "undefined") return;
  channel = new BroadcastChannel(STORED);
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => hear(data));
  if (session?.api_key === undefined) channel.postMessage({ kind: "ask" } satisfies Message);
}

function hear(message: Message): void {
  switch (message.kind) {
    case "ask":
      if (session !== undefined) channel?.postMessage({ kind: "known", session } satisfies Message);
      return;
    case "known":
      // The asking tab may have a newer session than the answering tab.
      if (session !== undefined && (session.token !== message.session.token || session.api_key !== undefined))
        return;
      if (session === undefined && ending !== undefined) return;
      return change(message.session);
    case "changed":
      ending = undefined;
      return change(message.session);
    case "ended":
      if (session?.token !== message.token) return;
      ending = "signed-out";
      return change(undefined);
  }
}

function changeEverywhere(to: Session): void {
  change(to);
  channel?.postMessage({ kind: "changed", session: to } satisfies Message);
}

function change(to: Session | undefined): void {
  session = to;
  try {
    sessionStorage.removeItem(STORED);
    localStorage.removeItem(STORED);
    if (to !== undefined)
      // Without the key, which is in memory only.
      (to.stays === true ? localStorage : sessionStorage).setItem(
        STORED,
        JSON.stringify({ ...to, api_key: undefined }),
      );
  } catch {
    // If storage is full or blocked, the session is in memory only.
  }
  for (const listener of listeners) listener();
}

function forgetEverything(): void {
  try {
    indexedDB.deleteDatabase(DATABASE);
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  } catch {
    // If storage is blocked, nothing is stored either.
  }
}

function restored(): Session | undefined {
  try {
    const text = sessionStorage.getItem(STORED) ?? localStorage.getItem(STORED);
    const stored: unknown = JSON.parse(text ?? "null");
    if (isSession(stored) && !isOver(stored.token)) return stored;
    localStorage.removeItem(STORED);
    return undefined;
  } catch {
    return undefined;
  }
}

function isSession(stored: unknown): stored is Session {
  const { token, email } = (stored ?? {}) as Partial<Session>;
  return typeof token === "string" && email !== undefined;
}

/** Returns whether a token (a JWT) has expired. Unreadable tokens are left to the service. */
function isOver(token: string): boolean {
  try {
    const claims = token.split(".")[1] ?? "";
    const { exp } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as { exp?: number };
    return exp !== undefined && exp * 1000 < Date.now();
  } catch {
    return false;
  }
}
