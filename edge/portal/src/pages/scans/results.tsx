// Results of a scan: shares, downloads, the reader's file, and a table.
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../../api/problem";
import { type Scan, type ScanResult, results as load } from "../../api/scans";
import { ProblemNotice } from "../../ui/notice";
import { Skeleton } from "../../ui/resource";
import { shortReason, toneOf, verdictOf } from "../../words/scan-verdicts";
import { Chart } from "./chart";
import { ChooseAgain } from "./choose-again";
import { DownloadForm, Downloads } from "./downloads";
import type { KnownList } from "./list/known";
import css from "./results.module.css";
import { Rows } from "./rows";
import { type Counts, Summary } from "./summary";
import type { Selection } from "./table";

/** Rows per page of results. */
const PAGE = 5_000;
/**
 * Pause between two readings of a running scan, in milliseconds per page after the first: 38 s for
 * 100,000 rows.
 */
const PAUSE_MS = 2_000;

/** Number of verdicts when the results were read; "over" after the end. */
type Edition = "over" | number;

interface Reading {
  edition: Edition;
  results: ScanResult[];
}

/** Reads the results again when there are more. Until the end, more pages mean longer pauses. */
function useResults(scan: Scan): { read: Reading | undefined; problem: Problem | undefined } {
  const [read, setRead] = useState<Reading>();
  const [problem, setProblem] = useState<Problem>();
  const newest: Edition = typeof scan.completed_at === "string" ? "over" : scan.answered;
  const [wanted, setWanted] = useState(newest);
  const pause = PAUSE_MS * (Math.ceil(scan.total / PAGE) - 1);
  const readAt = useRef(0);
  useEffect(() => {
    let left = false;
    load(scan.id).then(
      (results) => {
        if (left) return;
        readAt.current = Date.now();
        setProblem(undefined);
        setRead({ edition: wanted, results });
      },
      (error: unknown) => {
        if (!(error instanceof Problem)) throw error;
        if (!left) setProblem(error);
      },
    );
    return () => {
      left = true;
    };
  }, [scan.id, wanted]);
  useEffect(() => {
    if (wanted === newest) return;
    if (newest === "over" || pause === 0) return setWanted(newest);
    // Waits for a reading in progress.
    if (read?.edition !== wanted && problem === undefined) return;
    const timer = setTimeout(() => setWanted(newest), readAt.current + pause - Date.now());
    return () => clearTimeout(timer);
  }, [newest, wanted, read, problem]);
  return { read, problem };
}

const ALL: Selection = { only: undefined, withoutTraits: false, split: false };

interface ResultsProps {
  scan: Scan;
  known: KnownList | undefined;
  onKnown: (known: KnownList) => void;
}

export function Results({ scan, known, onKnown }: ResultsProps) {
  const { read, problem } = useResults(scan);
  const [selection, setSelection] = useState<Selection>(ALL);
  const over = typeof scan.completed_at === "string";
  // Results read before the end must not look complete.
  const results = over && read?.edition !== "over" ? undefined : read?.results;
  const counts = results === undefined ? scan.by_verdict : countsOf(results);
  return (
    <>
      <Summary
        counts={counts}
        only={selection.only}
        onOnly={(only) => setSelection({ ...selection, only })}
        actions={results !== undefined && <Downloads {...{ scan, results, known, selection }} />}
      >
        {results !== undefined && (
          <DownloadForm {...{ results, known, selection }} onSelection={setSelection} />
        )}
        {results !== undefined && scan.details && (
          <details class={css.reasons}>
            <summary>Reasons</summary>
            <Chart title="Addresses by reason" column="Reason" rows={reasonsOf(results)} />
          </details>
        )}
      </Summary>
      {problem !== undefined && <ProblemNotice problem={problem} />}
      {known === undefined && <ChooseAgain scan={scan} onKnown={onKnown} />}
      {results !== undefined && <Rows results={results} known={known} selection={selection} />}
      {results === undefined && problem === undefined && (
        <Skeleton label="Loading the results" bones={["line", "block"]} />
      )}
    </>
  );
}

function countsOf(results: readonly ScanResult[]): Counts {
  const counts = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
  for (const result of results) counts[verdictOf(result)] += 1;
  return counts;
}

function reasonsOf(results: readonly ScanResult[]) {
  const counts = new Map<string, { count: number; tone: string }>();
  for (const result of results) {
    const name = shortReason(result);
    const before = counts.get(name)?.count ?? 0;
    if (name !== "") counts.set(name, { count: before + 1, tone: toneOf(verdictOf(result)) });
  }
  return [...counts]
    .map(([name, { count, tone }]) => ({ name, count, tone }))
    .sort((one, other) => other.count - one.count);
}
