// What the scans' pages ask of the API.
import { type Schemas, call } from "./client";

export type Scan = Schemas["Scan"];
export type ScanResult = Schemas["ScanResult"];

/** Positions of one part. */
export const PART = 1_000;
/** Results of one page. */
const PAGE = 5_000;

export const list = (before?: string) =>
  call("get", "/v1/scans", "session", undefined, before === undefined ? {} : { before });

export const show = (id: string) => call("get", "/v1/scans/{id}", "session", undefined, { id });

export const cancel = (id: string) => call("post", "/v1/scans/{id}/cancel", "session", undefined, { id });

export const remove = (id: string) => call("delete", "/v1/scans/{id}", "session", undefined, { id });

/** Starts a scan and sends its list; `onSent` is told how many addresses are in. */
export async function send(
  name: string,
  addresses: readonly string[],
  onSent: (scan: Scan) => void,
): Promise<Scan> {
  let scan = await call("post", "/v1/scans", "session", { name, total: addresses.length, details: true });
  onSent(scan);
  for (let part = 0; part * PART < addresses.length; part += 1) {
    const of = addresses.slice(part * PART, (part + 1) * PART);
    const at = { id: scan.id, n: String(part) };
    scan = await call("put", "/v1/scans/{id}/parts/{n}", "session", { addresses: of }, at);
    onSent(scan);
  }
  return scan;
}

/** All results so far, by position. */
export async function results(id: string): Promise<ScanResult[]> {
  const all: ScanResult[] = [];
  let next: number | null | undefined;
  do {
    const from = next === undefined ? {} : { after: String(next) };
    const params = { id, limit: String(PAGE), ...from };
    const page = await call("get", "/v1/scans/{id}/results", "session", undefined, params);
    all.push(...page.results);
    next = page.next ?? null;
  } while (next !== null);
  return all;
}
