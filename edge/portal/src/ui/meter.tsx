// A bar that shows the used part of an allowance, or the progress of work.
import { clsx } from "clsx";
import css from "./meter.module.css";

interface MeterProps {
  label: string;
  /** Used or finished part. */
  value: number;
  max: number;
  /** The value in words. */
  text: string;
  /** True if a full bar is the goal. */
  goal?: boolean;
}

export function Meter({ label, value, max, text, goal = false }: MeterProps) {
  const share = max <= 0 ? 0 : Math.min(1, value / max);
  return (
    <div
      class={css.meter}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, 0)}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={text}
    >
      <div
        class={clsx(css.fill, max > 0 && share >= 1 && (goal ? css.done : css.full))}
        style={{ width: `${share * 100}%` }}
      />
    </div>
  );
}
