// The lists of scans that were started or looked at in this tab: they never leave the browser but as parts.
import type { List } from "./read-list";

const lists = new Map<string, List>();

export const listOf = (scan: string) => lists.get(scan);
export const keepList = (scan: string, list: List) => void lists.set(scan, list);
