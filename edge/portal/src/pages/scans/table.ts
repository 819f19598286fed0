// The reader's own list with our columns added: the copy that the list's reader makes; without the list, our columns
// by position.
import type { ScanResult } from "../../api/scans";
import { VERDICTS, type VerdictName, verdictOf } from "../../words/scan-verdicts";
import type { KnownList } from "./list/known";
import { type Verdicts, copyOf } from "./list/read";

type Codes = Pick<Verdicts, "codes" | "reasons">;

/** Our columns, as `clients/lists/src/copy.rs` has them. */
const OURS = [
  "rcpt_verdict",
  "rcpt_reason",
  "rcpt_suggestion",
  "rcpt_disposable",
  "rcpt_role",
  "rcpt_free",
  "rcpt_final",
];

/** Which rows are looked at, or downloaded. */
export interface Selection {
  /** Only rows with this verdict. */
  only: VerdictName | undefined;
  /** Throw-away addresses and role accounts are left out. */
  withoutTraits: boolean;
  /** A row with several addresses becomes a row for each. */
  split: boolean;
}

export interface Table extends Selection {
  /** The reader's list, if it is there. */
  known: KnownList | undefined;
  results: readonly ScanResult[];
}

const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

export const hasTraits = ({ disposable, role_account }: ScanResult) =>
  disposable === true || role_account === true;

export const isSelected = (result: ScanResult, { only, withoutTraits }: Omit<Selection, "split">) =>
  (only === undefined || verdictOf(result) === only) && !(withoutTraits && hasTraits(result));

export async function fileOf(table: Table): Promise<Blob> {
  const { known, results, only, withoutTraits, split } = table;
  if (known === undefined) {
    const selected = results.filter((result) => isSelected(result, { only, withoutTraits }));
    return new Blob([byPosition(selected)], { type: "text/csv" });
  }
  const bit = VERDICTS.findIndex(({ name }) => name === only);
  const chosen = { only: bit < 0 ? 0 : 1 << bit, withoutTraits, split };
  const copy = await copyOf(known.list, { ...codesOf(known.sent.addresses.length, results), ...chosen });
  return new Blob([copy], { type: known.list.isXlsx ? XLSX : "text/csv" });
}

/** Packs the results by position, as `clients/lists/src/wasm.rs` reads them. */
export function codesOf(total: number, results: readonly ScanResult[]): Codes {
  const codes = new Uint32Array(total);
  const reasons = new Map<string, number>();
  const known = (value: boolean | null | undefined) => (value == null ? 0 : value ? 2 : 1);
  for (const result of results) {
    const reason = reasonOf(result);
    const number = reasons.get(reason) ?? reasons.size;
    reasons.set(reason, number);
    codes[result.position] =
      (VERDICTS.findIndex(({ name }) => name === verdictOf(result)) + 1) |
      (known(result.disposable) << 3) |
      (known(result.role_account) << 5) |
      (known(result.free_provider) << 7) |
      (result.final === false ? 0 : 1 << 9) |
      (number << 10);
  }
  return { codes, reasons: [...reasons.keys()] };
}

const reasonOf = ({ reason, status }: ScanResult) => reason ?? String(status);

function byPosition(results: readonly ScanResult[]): string {
  const lines = results.map((result) => {
    const { position, disposable, role_account, free_provider, final } = result;
    const traits = [disposable, role_account, free_provider, final ?? true].map((value) =>
      String(value ?? ""),
    );
    return [position + 1, verdictOf(result), reasonOf(result), "", ...traits].join(",");
  });
  return [["position", ...OURS].join(","), ...lines, ""].join("\r\n");
}

/** Returns `customers.verdicts.csv` as the command does, or `customers.risky.csv` if `only` is `risky`. */
export function nameOf(
  scan: { id: string; name: string },
  known: KnownList | undefined,
  only: VerdictName | undefined,
): string {
  const name = known?.list.name ?? scan.name;
  return `${name.replace(/\.\w+$/, "") || scan.id}.${only ?? "verdicts"}.${known?.list.isXlsx === true ? "xlsx" : "csv"}`;
}
