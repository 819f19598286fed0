// The reader's own list with our columns added, as CSV in the original file's dialect.
import type { ScanResult } from "../../api/scans";
import { type VerdictName, verdictOf } from "../../words/scan-verdicts";
import type { KnownList } from "./list/known";
import { pause } from "./list/pause";
import { type Dialect, PLAIN } from "./list/read";

const OURS = ["rcpt_verdict", "rcpt_reason", "rcpt_confidence", "rcpt_status", "rcpt_final"];
/** Rows processed between two pauses. */
const PAUSE_EVERY = 2_000;

/** Returns the cell of a text. A leading apostrophe keeps a spreadsheet from reading a text as a formula. */
function cell(text: string, { delimiter, literal }: Dialect): string {
  const isFormula = literal && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text));
  const shown = isFormula ? `'${text}` : text;
  const quoted = shown.includes(delimiter) || /["\r\n]/.test(shown) || shown !== shown.trim();
  return quoted ? `"${shown.replaceAll('"', '""')}"` : shown;
}

function ours(result: ScanResult | undefined): string[] {
  if (result === undefined) return OURS.map(() => "");
  const { status, confidence, reason, final } = result;
  const malformed = status === "invalid_format";
  return [
    verdictOf(result),
    reason ?? (malformed ? "malformed" : ""),
    confidence ?? (malformed ? "high" : ""),
    String(status),
    String(final ?? true),
  ];
}

export interface Table {
  /** The reader's list; without it, the file has row numbers. */
  known: KnownList | undefined;
  total: number;
  results: readonly ScanResult[];
  /** Only rows with this verdict are included. */
  only: VerdictName | undefined;
}

export async function csvOf({ known, total, results, only }: Table): Promise<Blob> {
  const dialect = known?.list.dialect ?? PLAIN;
  const { delimiter, newline, bom } = dialect;
  const byPosition = new Map(results.map((result) => [result.position, result]));
  const lines: string[] = [];
  const write = (cells: string[]) => lines.push(cells.map((text) => cell(text, dialect)).join(delimiter));
  const header = known === undefined ? ["row"] : known.list.header;
  const width = Math.max(header?.length ?? 0, ...widthsOf(known));
  if (header !== null) write([...filled(header, width), ...OURS]);
  const rows = known?.list.rows.length ?? total;
  for (let row = 0; row < rows; row += 1) {
    const result = byPosition.get(known?.sent.positions[row] ?? row);
    if (only === undefined || (result !== undefined && verdictOf(result) === only))
      write([...filled(known?.list.rows[row] ?? [String(row + 1)], width), ...ours(result)]);
    if (row % PAUSE_EVERY === PAUSE_EVERY - 1) await pause();
  }
  return new Blob([bom ? "\ufeff" : "", lines.join(newline), newline], { type: "text/csv" });
}

/** Yields the width of the widest row: shorter rows are filled, so that our columns are aligned. */
function* widthsOf(known: KnownList | undefined): Generator<number> {
  let width = 0;
  for (const row of known?.list.rows ?? []) width = Math.max(width, row.length);
  yield width;
}

function filled(cells: readonly string[], width: number): string[] {
  return Array.from({ length: Math.max(width, cells.length) }, (_, at) => cells[at] ?? "");
}

/** Returns `customers-rcpt.csv`, or `customers-risky.csv` if `only` is `risky`. */
export function nameOf(scan: { id: string; name: string }, only: VerdictName | undefined): string {
  return `${scan.name.replace(/\.\w+$/, "") || scan.id}-${only ?? "rcpt"}.csv`;
}
