// Checks by day, as bars. The numbers come from the account's daily counts, which contain no
// addresses.
import type { Schemas } from "../../api/client";
import { counted } from "../../words/times";
import css from "./usage-chart.module.css";

type Day = Schemas["DayOfUsage"];

/** Width in units of the drawing, which is stretched to the available width. */
const BAR = 10;
const GAP = 3;
const HEIGHT = 72;
/** Least height of a bar, so that days with few checks are visible next to days with many. */
const LEAST = 2;

const number = new Intl.NumberFormat("en");

export function UsageChart({ days }: { days: readonly Day[] }) {
  const most = Math.max(...days.map((day) => day.email_checks), 0);
  const total = days.reduce((sum, day) => sum + day.email_checks, 0);
  const busiest = days.find((day) => day.email_checks === most);
  if (total === 0 || busiest === undefined)
    return <p class="quiet">No checks in the last 30 days. Your first one will show up here.</p>;
  const width = days.length * (BAR + GAP) - GAP;
  return (
    <figure class={css.chart}>
      <figcaption class={css.caption}>
        <strong>{number.format(total)}</strong> {total === 1 ? "check" : "checks"}
        <span class="quiet">
          most on {short(busiest.date)}: {number.format(most)}
        </span>
      </figcaption>
      <svg
        class={css.bars}
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${counted(total, "check")} in the last 30 days, most on ${short(busiest.date)}: ${most}`}
      >
        {days.map(({ date, email_checks: checks }, at) => {
          const height = checks === 0 ? 1 : Math.max(LEAST, (checks / most) * HEIGHT);
          return (
            <rect
              class={checks === 0 ? css.none : at === days.length - 1 ? css.today : css.bar}
              x={at * (BAR + GAP)}
              y={HEIGHT - height}
              width={BAR}
              height={height}
            >
              <title>{`${short(date)}: ${counted(checks, "check")}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class={css.axis} aria-hidden="true">
        <span>{short(days[0]?.date ?? "")}</span>
        <span>Today (UTC)</span>
      </p>
    </figure>
  );
}

/** Formats a date, which is a day in UTC. */
function short(date: string): string {
  if (date === "") return "";
  const day = new Date(`${date}T00:00:00Z`);
  return new Intl.DateTimeFormat("en", { day: "numeric", month: "short", timeZone: "UTC" }).format(day);
}
