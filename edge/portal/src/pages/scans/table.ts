// The reader's own list with our columns added, as CSV (RFC 4180).
import type { ScanResult } from "../../api/scans";
import { type List, pause } from "./read-list";

const OURS = ["rcpt_status", "rcpt_verdict", "rcpt_confidence", "rcpt_reason"];
/** Rows after which the page may do something else. */
const PAUSE_EVERY = 2_000;

function cell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function ours(result: ScanResult | undefined): string[] {
  if (result === undefined) return OURS.map(() => "");
  const { status, verdict, confidence, reason } = result;
  return [String(status), verdict ?? "", confidence ?? "", reason ?? ""];
}

/** Without a list there are positions in its place. */
export async function csvOf(list: List | undefined, total: number, results: ScanResult[]): Promise<Blob> {
  const byPosition = new Map(results.map((result) => [result.position, result]));
  const lines: string[] = [];
  const write = (cells: string[]) => lines.push(cells.map(cell).join(","));
  const header = list === undefined ? ["position"] : list.header;
  if (header !== null) write([...header, ...OURS]);
  for (let position = 0; position < total; position += 1) {
    const row = list === undefined ? [String(position)] : (list.rows[position] ?? []);
    write([...row, ...ours(byPosition.get(position))]);
    if (position % PAUSE_EVERY === PAUSE_EVERY - 1) await pause();
  }
  return new Blob([lines.join("\r\n"), "\r\n"], { type: "text/csv" });
}

/** Hands a file to the reader. */
export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
