// A bar that fills up: as an allowance is used, or as work is done.
import { clsx } from "clsx";
import css from "./meter.module.css";

interface MeterProps {
  label: string;
  /** What is used up, or done. */
  value: number;
  max: number;
  /** The same in words. */
  text: string;
  /** Whether a full bar is what one waits for. */
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
