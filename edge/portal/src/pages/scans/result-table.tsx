// Results as a table; on a phone each row is a block.
import { clsx } from "clsx";
import type { ScanResult } from "../../api/scans";
import { shortReason, titleOf, toneOf, verdictOf } from "../../words/scan-verdicts";
import type { KnownList } from "./list/known";
import css from "./results.module.css";

interface ResultTableProps {
  results: readonly ScanResult[];
  known: KnownList | undefined;
  /** The addresses that were probably meant, by position. */
  meant: readonly string[];
}

export function ResultTable({ results, known, meant }: ResultTableProps) {
  return (
    <table class={css.table} aria-label="Results by row">
      <thead>
        <tr>
          {/* Without the file nobody knows its rows. */}
          <th scope="col">{known === undefined ? "Position" : "Row"}</th>
          {known !== undefined && <th scope="col">Address</th>}
          <th scope="col">Verdict</th>
          <th scope="col">Reason</th>
        </tr>
      </thead>
      <tbody>
        {results.map((result) => {
          const { position } = result;
          const verdict = verdictOf(result);
          return (
            <tr key={position}>
              <td class={css.row}>{known === undefined ? position + 1 : known.sent.rows[position] || "–"}</td>
              {known !== undefined && (
                <td class={clsx("address", css.address)}>
                  {known.sent.addresses[position] || "not in this file"}
                </td>
              )}
              <td>
                <span class={css.verdict} data-tone={toneOf(verdict)}>
                  {titleOf(verdict)}
                </span>
                {result.final === false && <span class={css.interim}>not final</span>}
              </td>
              <td class={css.reason}>
                {[shortReason(result), replyOf(result), ...traitsOf(result)].filter(Boolean).join(" · ")}
                {(meant[position] ?? "") !== "" && (
                  <span class={css.meant}>
                    Did you mean <span class="address">{meant[position]}</span>?
                  </span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Returns the codes of the mail server's reply. */
const replyOf = ({ smtp_code, enhanced_code }: ScanResult) =>
  smtp_code == null ? "" : [smtp_code, enhanced_code ?? ""].join(" ").trim();

function traitsOf({ role_account, disposable, free_provider }: ScanResult): string[] {
  return [
    role_account === true ? "role account" : "",
    disposable === true ? "disposable" : "",
    free_provider === true ? "free provider" : "",
  ];
}
