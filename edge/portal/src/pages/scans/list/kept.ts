// What this browser keeps of a list that it has sent, to find the verdicts again: for each position a tag, 8 bytes of
// a hash over the scan's id and the address (clients/lists/src/plan.rs). It holds no address. Sign-out deletes it
// (session.ts).
import { DATABASE, current } from "../../../session";

const STORE = "scans";
/** Results are removed a week after the end of a scan, which lasts at most a day. */
const KEPT_MS = 9 * 24 * 60 * 60 * 1000;

/** This browser's record of a list that it has sent. */
export interface Kept {
  scan: string;
  /** Name of the file. */
  file: string;
  /** Heading of the column, if there was one. */
  column: string | null;
  caseMatters: boolean;
  tags: Uint8Array<ArrayBuffer>;
  /** Email address of the account, so that another one on this device finds nothing. */
  owner: string | undefined;
  until: number;
}

export async function keep(list: Omit<Kept, "owner" | "until">): Promise<void> {
  const owner = current()?.email;
  await inStore((store) => store.put({ ...list, owner, until: Date.now() + KEPT_MS } satisfies Kept));
}

export async function recall(scan: string): Promise<Kept | undefined> {
  const kept = await inStore((store) => store.get(scan) as IDBRequest<Kept | undefined>);
  return kept !== undefined && isCurrent(kept) ? kept : undefined;
}

export async function forget(scan: string): Promise<void> {
  await inStore((store) => store.delete(scan));
}

/** Deletes what is too old, or another account's: its session may have ended without a sign-out. */
function clean(store: IDBObjectStore): void {
  const all = store.openCursor();
  all.onsuccess = () => {
    const cursor = all.result;
    if (cursor === null) return;
    if (!isCurrent(cursor.value as Kept)) cursor.delete();
    cursor.continue();
  };
}

const isCurrent = ({ until, owner }: Kept) => until >= Date.now() && owner === current()?.email;

/** Runs a request on the store; undefined if storage is full or blocked. The service then compares the list. */
async function inStore<Result>(
  request: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result | undefined> {
  let database: IDBDatabase | undefined;
  try {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: "scan" });
    database = await done(opening);
    const store = database.transaction(STORE, "readwrite").objectStore(STORE);
    clean(store);
    return await done(request(store));
  } catch {
    return undefined;
  } finally {
    // An open database couldn't be deleted at sign-out.
    database?.close();
  }
}

function done<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
