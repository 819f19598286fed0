// API calls of the scans' pages.
import { type Schemas, call } from "./client";

export type Scan = Schemas["Scan"];
export type ScanResult = Schemas["ScanResult"];

/** Positions per part. */
export const PART = 1_000;
/** Results per page. */
const PAGE = 5_000;

export const list = (before?: string) =>
  call("get", "/v1/scans", "session", undefined, before === undefined ? {} : { before });

export const show = (id: string) => call("get", "/v1/scans/{id}", "session", undefined, { id });

export const cancel = (id: string) => call("post", "/v1/scans/{id}/cancel", "session", undefined, { id });

export const remove = (id: string) => call("delete", "/v1/scans/{id}", "session", undefined, { id });

/** Returns whether part `n` was sent with these addresses, in this order. */
export async function matchPart(id: string, n: number, addresses: string[]): Promise<boolean> {
  const at = { id, n: String(n) };
  const { matches } = await call("post", "/v1/scans/{id}/parts/{n}/match", "session", { addresses }, at);
  return matches;
}

/** Options for sending a list. */
export interface Sending {
  /** An earlier scan of this list, which still lacks parts. */
  begun: Scan | undefined;
  name: string;
  addresses: readonly string[];
  onProgress: (scan: Scan) => void;
  /** Called when the scan exists, before any address is sent. */
  onStart: (scan: Scan) => Promise<void>;
}

/** Starts a scan or continues `begun`, and sends the list in parts. A repeated part changes nothing. */
export async function send({ begun, name, addresses, onProgress, onStart }: Sending): Promise<Scan> {
  const total = addresses.length;
  let scan = begun ?? (await call("post", "/v1/scans", "session", { name, total, details: true }));
  onProgress(scan);
  await onStart(scan);
  for (let n = 0; n * PART < total; n += 1) {
    const part = addresses.slice(n * PART, (n + 1) * PART);
    const at = { id: scan.id, n: String(n) };
    scan = await call("put", "/v1/scans/{id}/parts/{n}", "session", { addresses: part }, at);
    onProgress(scan);
  }
  return scan;
}

/** Returns all results so far, by position, including verdicts that a retry may still change. */
export async function results(id: string): Promise<ScanResult[]> {
  const all: ScanResult[] = [];
  let next: number | null | undefined;
  do {
    const from = next === undefined ? {} : { after: String(next) };
    const params = { id, limit: String(PAGE), interim: "true", ...from };
    const page = await call("get", "/v1/scans/{id}/results", "session", undefined, params);
    all.push(...page.results);
    next = page.next ?? null;
  } while (next !== null);
  return all;
}
