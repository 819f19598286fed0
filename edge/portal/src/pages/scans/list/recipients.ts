// Recipients in the form that email programs copy: `"Doe, J" <j@example.org>; ann@example.org`, on one line or several.
import { addressParser } from "postal-mime";
import { pause } from "./pause";

/** Lines parsed between two pauses. */
const LINES = 500;

/** Matches addresses anywhere in a text, approximately. */
const ADDRESS = /[^\s@<>",;:]+@[^\s@<>",;:]+\.[^\s@<>",;:]+/g;

/** Returns whether any line has several addresses, or an address in angle brackets. */
export function isRecipients(text: string): boolean {
  return text
    .split(/\r\n|\r|\n/)
    .some((line) => /<[^<>\s]+@[^<>\s]+>/.test(line) || (line.match(ADDRESS) ?? []).length > 1);
}

/** Returns a row for each recipient, with any name in a second column. Every match of `ADDRESS` has a row. */
export async function recipientsOf(text: string): Promise<string[][]> {
  const lines = unfolded(text);
  const rows: string[][] = [];
  for (let at = 0; at < lines.length; at += LINES) {
    for (const line of lines.slice(at, at + LINES)) rows.push(...rowsOf(line));
    await pause();
  }
  return rows.some(([, name]) => name !== "") ? rows : rows.map(([address = ""]) => [address]);
}

function rowsOf(line: string): string[][] {
  const rows = addressParser(line, { flatten: true }).map(({ name, address }) =>
    address === undefined || address === "" ? [name, ""] : [address, name],
  );
  const found = line.match(ADDRESS) ?? [];
  // If the parser misses an address of the line, the matched addresses are used instead.
  const known = rows.map(([address]) => address);
  return found.every((address) => known.includes(address)) ? rows : found.map((address) => [address, ""]);
}

/** Joins the lines of each recipient: a continuation belongs to the line before. */
function unfolded(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line.trim() === "") continue;
    if (lines.length > 0 && /^\s*</.test(line) && !/@\S*\s*[>,;]?\s*$/.test(lines.at(-1) ?? ""))
      lines.push(`${lines.pop()} ${line}`);
    else lines.push(line);
  }
  return lines;
}
