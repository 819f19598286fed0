// Scans as a list, each with its verdicts.
import type { RefObject } from "preact";
import type { Scan } from "../../api/scans";
import { VERDICTS } from "../../words/scan-verdicts";
import { moment } from "../../words/times";
import css from "../scans.module.css";
import { Shares } from "./summary";
import { STATES } from "./words";

const number = new Intl.NumberFormat("en");

interface ScanListProps {
  scans: readonly Scan[];
  /** Index of the scan whose link gets `link`. */
  focused?: number;
  link?: RefObject<HTMLAnchorElement | null>;
}

export function ScanList({ scans, focused, link }: ScanListProps) {
  return (
    <ul class={css.scans}>
      {scans.map((scan, at) => (
        <li key={scan.id}>
          <a
            class={css.scanName}
            href={`/scans?id=${scan.id}`}
            ref={at > 0 && at === focused ? (link ?? null) : null}
          >
            {scan.name === "" ? `Scan of ${moment(scan.created_at)}` : scan.name}
          </a>
          <span class={css.state} data-tone={STATES[scan.state]?.tone}>
            {STATES[scan.state]?.name ?? scan.state}
          </span>
          <span class={css.progress}>
            {scan.answered > 0 && <Shares counts={scan.by_verdict} />}
            {verdictsOf(scan)}
          </span>
          <time class={css.when} dateTime={scan.created_at}>
            {moment(scan.created_at)}
          </time>
        </li>
      ))}
    </ul>
  );
}

/** Formats as `120 addresses: 80 deliverable, 40 unknown`. */
function verdictsOf({ total, answered, by_verdict }: Scan): string {
  const counts = VERDICTS.filter(({ name }) => by_verdict[name] > 0).map(
    ({ name }) => `${number.format(by_verdict[name])} ${name}`,
  );
  const progress = answered < total ? `${number.format(answered)} of ` : "";
  const of = `${progress}${number.format(total)} ${total === 1 ? "address" : "addresses"}`;
  return counts.length === 0 ? of : `${of}: ${counts.join(", ")}`;
}
