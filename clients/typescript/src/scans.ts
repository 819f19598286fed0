import type { components } from "./schema.js";

export type Scan = components["schemas"]["Scan"];
export type ScanResult = components["schemas"]["ScanResult"];

/** An address of a list, and its result; undefined if the position has none. */
export interface Joined {
  address: string;
  result: ScanResult | undefined;
}

export interface NewScan {
  name?: string;
  /** Includes the evidence behind the verdicts; true by default. */
  details?: boolean;
  /** Another call with the same list and key within 24 hours returns the same scan. */
  idempotencyKey?: string;
  signal?: AbortSignal | undefined;
  /** Time limit of each request in seconds, in place of the client's. */
  timeout?: number | undefined;
}

export interface Waiting {
  /** Time limit in seconds; by default until the scan ends. */
  timeout?: number;
  /** Called with the scan's state at each poll. */
  onProgress?: (scan: Scan) => void;
  signal?: AbortSignal;
}

/** Addresses per part; the last part of a list may have fewer. */
export const PART = 1_000;
/** Results per page. */
export const PAGE = 10_000;

/** First pause between two polls of a scan, in milliseconds; pauses grow. */
export const LOOK = 500;
/** Longest pause between two polls, in milliseconds. */
export const LONGEST_LOOK = 10_000;

export function isOver({ state }: Scan): boolean {
  return state !== "open" && state !== "running";
}

/** Splits a list into parts of `PART` addresses, in order; the last part may be shorter. */
export function partsOf(addresses: readonly string[]): string[][] {
  const count = Math.ceil(addresses.length / PART);
  return Array.from({ length: count }, (_, n) => addresses.slice(n * PART, (n + 1) * PART));
}

/** Returns each address with the result of its position. */
export function joined(addresses: readonly string[], results: readonly ScanResult[]): Joined[] {
  const byPosition = new Map(results.map((result) => [result.position, result]));
  return addresses.map((address, position) => ({ address, result: byPosition.get(position) }));
}
