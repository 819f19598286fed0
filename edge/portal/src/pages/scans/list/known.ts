// Lists of scans that were started or recognised in this tab, stored in memory only. Sign-out forgets them.
import * as session from "../../../session";
import type { List, Sent } from "./read";

export interface KnownList {
  list: List;
  sent: Sent;
}

const lists = new Map<string, KnownList>();

/** The list that is being prepared, while the person looks at another page. */
let prepared: List | undefined;
/** What was typed into the field for a list, and not read yet. */
let typedText = "";
export const typed = () => typedText;
export const keepTyped = (text: string) => void (typedText = text);
export const draft = () => prepared;
export const keepDraft = (list: List | undefined) => void (prepared = list);

export const listOf = (scan: string) => lists.get(scan);
export const keepList = (scan: string, known: KnownList) => void lists.set(scan, known);
session.listen(() => {
  if (session.current() !== undefined) return;
  prepared?.source.close();
  prepared = undefined;
  typedText = "";
  for (const scan of lists.keys()) forgetList(scan);
});

export function forgetList(scan: string): void {
  lists.get(scan)?.list.source.close();
  lists.delete(scan);
}
