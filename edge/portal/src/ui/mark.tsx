// The symbol of a verdict, next to words with the same meaning.
import { clsx } from "clsx";
import type { VerdictTone } from "../words/verdicts";
import css from "./mark.module.css";

const SIGNS: Record<VerdictTone, string> = {
  good: "M5 10.5l3.2 3.2L15 6.8",
  bad: "M6 6l8 8M14 6l-8 8",
  risky: "M10 5v6.5M10 14.6v.1",
  unknown: "M7.4 7.6a2.7 2.7 0 1 1 3.9 2.5c-.8.4-1.3.9-1.3 1.8M10 14.6v.1",
};

export function Mark({ tone, small = false }: { tone: VerdictTone; small?: boolean }) {
  return (
    <span class={clsx(css.mark, css[tone], small && css.small)} aria-hidden="true">
      <svg viewBox="0 0 20 20">
        <path d={SIGNS[tone]} />
      </svg>
    </span>
  );
}
