// Lists of scans that were started or recognised in this tab, stored in memory only.
import type { List, Sent } from "./read";

export interface KnownList {
  list: List;
  sent: Sent;
}

const lists = new Map<string, KnownList>();

export const listOf = (scan: string) => lists.get(scan);
export const keepList = (scan: string, known: KnownList) => void lists.set(scan, known);
export function forgetList(scan: string): void {
  lists.get(scan)?.list.source.close();
  lists.delete(scan);
}
