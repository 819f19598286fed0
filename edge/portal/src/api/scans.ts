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

/** Starts a scan of this many addresses, which follow in parts. */
export const create = (name: string, total: number) =>
  call("post", "/v1/scans", "session", { name, total, details: true });

/** Sends part `n` of a list. A repeated part changes nothing. */
export const sendPart = (id: string, n: number, addresses: readonly string[]) =>
  call("put", "/v1/scans/{id}/parts/{n}", "session", { addresses: [...addresses] }, { id, n: String(n) });

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
