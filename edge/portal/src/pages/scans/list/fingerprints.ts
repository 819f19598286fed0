// Fingerprints of a scan's parts, kept in this browser only. A list that is chosen again is joined
// with the verdicts only if every part has the same addresses in the same order.

const PREFIX = "rcpt.scan.";
/** Results are removed a week after the end of a scan, which lasts at most a day. */
const KEPT_MS = 9 * 24 * 60 * 60 * 1000;

/** This browser's record of a list that it has sent. */
export interface Remembered {
  /** Name of the file. */
  file: string;
  /** Heading of the column, if there was one. */
  column: string | null;
  /** A SHA-256 for each part that was sent. */
  parts: string[];
  until: number;
}

/**
 * Returns the SHA-256 over the addresses as sent, in order, salted with the scan's id; undefined
 * without https.
 */
export async function fingerprintOf(scan: string, addresses: readonly string[]): Promise<string | undefined> {
  if (globalThis.crypto?.subtle === undefined) return undefined;
  const bytes = new TextEncoder().encode(JSON.stringify([scan, addresses]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function remember(scan: string, list: Omit<Remembered, "until">): void {
  forgetOld();
  try {
    localStorage.setItem(PREFIX + scan, JSON.stringify({ ...list, until: Date.now() + KEPT_MS }));
  } catch {
    // If storage is full or blocked, the service compares the parts instead.
  }
}

export function recall(scan: string): Remembered | undefined {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PREFIX + scan) ?? "null");
    return isRemembered(stored) ? stored : undefined;
  } catch {
    return undefined;
  }
}

export function forget(scan: string): void {
  try {
    localStorage.removeItem(PREFIX + scan);
  } catch {
    // If storage is blocked, nothing is stored either.
  }
}

function forgetOld(): void {
  try {
    for (const key of Object.keys(localStorage))
      if (key.startsWith(PREFIX) && (recall(key.slice(PREFIX.length))?.until ?? 0) < Date.now())
        localStorage.removeItem(key);
  } catch {
    // If storage is blocked, nothing is stored either.
  }
}

function isRemembered(stored: unknown): stored is Remembered {
  return (
    typeof stored === "object" &&
    stored !== null &&
    "parts" in stored &&
    Array.isArray(stored.parts) &&
    "file" in stored &&
    "until" in stored
  );
}
