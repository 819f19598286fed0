// The verdicts of a scan at a glance: shares, what to do with each, and which rows to look at.
import type { ComponentChildren } from "preact";
import { VERDICTS, type VerdictName } from "../../words/scan-verdicts";
import css from "./summary.module.css";

export type Counts = Readonly<Record<VerdictName, number>>;

interface SummaryProps {
  counts: Counts;
  only: VerdictName | undefined;
  onOnly: (only: VerdictName | undefined) => void;
  /** Buttons beside the shares. */
  actions: ComponentChildren;
  children?: ComponentChildren;
}

const number = new Intl.NumberFormat("en");

/** Formats a share as `38%`; small ones with a decimal, so that none but zero is `0%`. */
export function percent(share: number): string {
  const digits = share > 0 && share < 0.1 ? 1 : 0;
  if (share > 0 && share < 0.001) return "<0.1%";
  return new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: digits }).format(share);
}

export function Summary({ counts, only, onOnly, actions, children }: SummaryProps) {
  const all = VERDICTS.reduce((sum, { name }) => sum + counts[name], 0);
  return (
    <section class={css.summary} aria-label="Verdicts">
      <div class={css.top}>
        <Shares counts={counts} />
        {actions}
      </div>
      <div class={css.verdicts} role="group" aria-label="Show only">
        {VERDICTS.map(({ name, title, tone, advice }) => (
          <button
            type="button"
            class={css.verdict}
            data-tone={tone}
            aria-pressed={only === name}
            disabled={counts[name] === 0}
            onClick={() => onOnly(only === name ? undefined : name)}
          >
            <span class={css.dot} aria-hidden="true" />
            <span class={css.title}>{title}</span>{" "}
            <span class={css.count}>
              <strong>{number.format(counts[name])}</strong> {percent(all === 0 ? 0 : counts[name] / all)}
            </span>{" "}
            <span class={css.advice}>{advice}</span>
          </button>
        ))}
      </div>
      {children}
    </section>
  );
}

/** Draws the shares as one bar; the words stand beside it. */
export function Shares({ counts }: { counts: Counts }) {
  return (
    <div class={css.shares} aria-hidden="true">
      {VERDICTS.map(
        ({ name, tone }) => counts[name] > 0 && <span data-tone={tone} style={{ flexGrow: counts[name] }} />,
      )}
    </div>
  );
}
