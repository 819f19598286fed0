// What this browser keeps of a list that it has sent, to find the verdicts again: for each position a tag, 8 bytes of
// a hash over the scan's id and the address (clients/lists/src/plan.rs). It holds no address. Sign-out deletes it
// (session.ts).
import { DATABASE } from "../../../session";

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
  until: number;
}

export async function keep(list: Omit<Kept, "until">): Promise<void> {
  await inStore("readwrite", (store) => {
    const old = store.openCursor();
    old.onsuccess = () => {
      const cursor = old.result;
      if (cursor === null) return;
      if ((cursor.value as Kept).until < Date.now()) cursor.delete();
      cursor.continue();
    };
    return store.put({ ...list, until: Date.now() + KEPT_MS } satisfies Kept);
  });
}

export async function recall(scan: string): Promise<Kept | undefined> {
  return (await inStore("readonly", (store) => store.get(scan) as IDBRequest<Kept | undefined>)) ?? undefined;
}

export async function forget(scan: string): Promise<void> {
  await inStore("readwrite", (store) => store.delete(scan));
}

/** Runs a request on the store; undefined if storage is full or blocked. The service then compares the list. */
async function inStore<Result>(
  mode: IDBTransactionMode,
  request: (store: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result | undefined> {
  let database: IDBDatabase | undefined;
  try {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE, { keyPath: "scan" });
    database = await done(opening);
    const transaction = database.transaction(STORE, mode);
    return await done(request(transaction.objectStore(STORE)));
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
