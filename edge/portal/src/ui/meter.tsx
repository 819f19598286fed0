interface MeterProps {
  label: string;
  /** What is used up. */
  value: number;
  max: number;
  /** The same in words. */
  text: string;
}

/** A bar that fills up as an allowance is used. */
export function Meter({ label, value, max, text }: MeterProps) {
  const share = max <= 0 ? 0 : Math.min(1, value / max);
  return (
    <div
      class="meter"
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(max, 0)}
      aria-valuenow={Math.min(value, max)}
      aria-valuetext={text}
    >
      <div class={`meter-fill${max > 0 && share >= 1 ? " full" : ""}`} style={{ width: `${share * 100}%` }} />
    </div>
  );
}
