// Results of a scan: charts, a table, and the reader's own list with added columns.
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "../../api/problem";
import { type Scan, type ScanResult, results as load } from "../../api/scans";
import { Card } from "../../ui/card";
import { ProblemNotice } from "../../ui/notice";
import { Skeleton } from "../../ui/resource";
import { VERDICTS, shortReason, toneOf, verdictOf } from "../../words/scan-verdicts";
import { Chart } from "./chart";
import { Lookup } from "./lookup";

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

export function Results({ scan }: { scan: Scan }) {
  const { read, problem } = useResults(scan);
  const over = typeof scan.completed_at === "string";
  // Results read before the end must not look complete.
  const results = over && read?.edition !== "over" ? undefined : read?.results;
  if (results === undefined)
    return problem === undefined ? (
      <Skeleton label="Loading the results" bones={["line", "block"]} />
    ) : (
      <ProblemNotice problem={problem} />
    );
  return (
    <>
      <Card id="verdicts" title={over ? "Verdicts" : "Verdicts so far"}>
        <Chart
          title="Addresses by verdict"
          column="Verdict"
          rows={VERDICTS.map(({ name, title, tone, means }) => ({
            name: title,
            tone,
            means,
            count: results.filter((result) => verdictOf(result) === name).length,
          }))}
        />
        {scan.details && <Chart title="Addresses by reason" column="Reason" rows={reasonsOf(results)} />}
        {problem !== undefined && <ProblemNotice problem={problem} />}
      </Card>
      <Lookup scan={scan} results={results} />
    </>
  );
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
