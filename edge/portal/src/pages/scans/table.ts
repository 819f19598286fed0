// The reader's own list with our columns added: the copy that the list's reader makes; without the list, our columns
// by position.
import type { ScanResult } from "../../api/scans";
import { VERDICTS, type VerdictName, verdictOf } from "../../words/scan-verdicts";
import type { KnownList } from "./list/known";
import { copyOf } from "./list/read";

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

export interface Table {
  /** The reader's list, if it is there. */
  known: KnownList | undefined;
  results: readonly ScanResult[];
  /** Only rows with this verdict are included. */
  only: VerdictName | undefined;
  /** Throw-away addresses and role accounts are left out. */
  withoutTraits: boolean;
}

export const hasTraits = ({ disposable, role_account }: ScanResult) =>
  disposable === true || role_account === true;

export async function csvOf({ known, results, only, withoutTraits }: Table): Promise<Blob> {
  if (known === undefined) return new Blob([byPosition(results)], { type: "text/csv" });
  const bit = VERDICTS.findIndex(({ name }) => name === only);
  const chosen = { only: bit < 0 ? 0 : 1 << bit, withoutTraits };
  const copy = await copyOf(known.list, { ...codesOf(known.sent.addresses.length, results), ...chosen });
  return new Blob([copy], { type: "text/csv" });
}

/** Packs the results by position, as `clients/lists/src/wasm.rs` reads them. */
function codesOf(total: number, results: readonly ScanResult[]): { codes: Uint32Array; reasons: string[] } {
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

/** Returns `customers-rcpt.csv`, or `customers-risky.csv` if `only` is `risky`. */
export function nameOf(scan: { id: string; name: string }, only: VerdictName | undefined): string {
  return `${scan.name.replace(/\.\w+$/, "") || scan.id}-${only ?? "rcpt"}.csv`;
}
