import type { components } from "./schema.js";

export type Scan = components["schemas"]["Scan"];
export type ScanResult = components["schemas"]["ScanResult"];

/** An address of a list, and its result; undefined while there is none. */
export interface Joined {
  address: string;
  result: ScanResult | undefined;
}

export interface NewScan {
  name?: string;
  /** Gives results the evidence behind the verdict; true unless said otherwise. */
  details?: boolean;
  /** With the same list and key, within 24 hours, it's the same scan. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

export interface Waiting {
  /** Seconds; without it, until the scan ends. */
  timeout?: number;
  /** Gets the scan at each look. */
  onProgress?: (scan: Scan) => void;
  signal?: AbortSignal;
}

/** Addresses of a part; the last one of a list has what is left. */
export const PART = 1_000;
/** Results of a page. */
export const PAGE = 10_000;

/** Milliseconds between two looks at a scan: from the one to the other. */
export const LOOK = 500;
export const LONGEST_LOOK = 10_000;

export function isOver({ state }: Scan): boolean {
  return state !== "open" && state !== "running";
}

/** The parts of a list. */
export function partsOf(addresses: readonly string[]): string[][] {
  const count = Math.ceil(addresses.length / PART);
  return Array.from({ length: count }, (_, n) => addresses.slice(n * PART, (n + 1) * PART));
}

/** Each address with the result of its position. */
export function joined(addresses: readonly string[], results: readonly ScanResult[]): Joined[] {
  const byPosition = new Map(results.map((result) => [result.position, result]));
  return addresses.map((address, position) => ({ address, result: byPosition.get(position) }));
}
