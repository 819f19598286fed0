// What has come of a scan: charts, a table to look into, and the reader's own list with our columns.
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../../api/problem";
import { type Scan, type ScanResult, results as load } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Notice, ProblemNotice } from "../../ui/notice";
import { REASONS } from "../../words/verdicts";
import page from "../scans.module.css";
import css from "./results.module.css";
import { Chart } from "./chart";
import { keepList, listOf } from "./known-lists";
import { ListSource } from "./list-source";
import { type List, addressesOf } from "./read-list";
import { csvOf, download } from "./table";
import { STATUSES, nameOf } from "./words";

const number = new Intl.NumberFormat("en");
/** Rows of the table at a time. */
const ROWS = 100;

export function Results({ scan }: { scan: Scan }) {
  const [all, setAll] = useState<ScanResult[]>();
  const [problem, setProblem] = useState<Problem>();
  const over = typeof scan.completed_at === "string";
  const counts = Object.entries(scan.counts) as [string, number][];
  useEffect(() => {
    if (!over) return;
    let left = false;
    load(scan.id).then(
      (results) => !left && setAll(results),
      (error: unknown) => {
        if (!(error instanceof Problem)) throw error;
        if (!left) setProblem(error);
      },
    );
    return () => {
      left = true;
    };
  }, [scan.id, over]);

  return (
    <>
      <Card id="verdicts" title="Verdicts">
        <Chart
          title="Addresses by verdict"
          column="Verdict"
          rows={STATUSES.map(([status, name, tone]) => ({
            name,
            tone,
            count: counts.find(([of]) => of === status)?.[1] ?? 0,
          }))}
        />
        {all !== undefined && scan.details && (
          <Chart title="Addresses by reason" column="Reason" rows={reasonsOf(all)} />
        )}
        {problem !== undefined && <ProblemNotice problem={problem} />}
      </Card>
      {all !== undefined && <Lookup scan={scan} results={all} />}
    </>
  );
}

function reasonsOf(results: readonly ScanResult[]) {
  const counts = new Map<string, number>();
  for (const { reason } of results)
    if (typeof reason === "string") counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([reason, count]) => ({
      name: (REASONS as Record<string, string>)[reason] ?? reason,
      count,
      tone: "plain",
    }));
}

function Lookup({ scan, results }: { scan: Scan; results: ScanResult[] }) {
  const [list, setList] = useState<List | undefined>(() => listOf(scan.id));
  const [status, setStatus] = useState("");
  const [shown, setShown] = useState(ROWS);
  const [other, setOther] = useState(false);
  const wanted = status === "" ? results : results.filter((result) => String(result.status) === status);
  const addresses = list === undefined ? undefined : addressesOf(list);

  function choose(chosen: List) {
    const fits = chosen.rows.length === scan.total;
    setOther(!fits);
    if (!fits) return;
    keepList(scan.id, chosen);
    setList(chosen);
  }

  async function save() {
    download(
      await csvOf(list, scan.total, results),
      `${scan.name.replace(/\.\w+$/, "") || scan.id}-rcpt.csv`,
    );
  }

  return (
    <Card id="results" title="Results">
      {list === undefined && (
        <>
          <p>We don’t keep your addresses. Choose your file again to see them beside their verdicts.</p>
          <ListSource onList={choose} pastes={false} />
          {other && (
            <Notice tone="bad">
              <p>This file has another number of rows than the scan. Choose the one you’ve scanned.</p>
            </Notice>
          )}
        </>
      )}
      <div class={css.tools}>
        <label class={page.choice}>
          Show
          <select
            value={status}
            onChange={(event) => {
              setStatus(event.currentTarget.value);
              setShown(ROWS);
            }}
          >
            <option value="">All verdicts</option>
            {STATUSES.map(([value, name]) => (
              <option value={value}>{name}</option>
            ))}
          </select>
        </label>
        <Button kind="primary" onClick={() => void save()}>
          Download CSV
        </Button>
      </div>
      <div class={css.scroll} tabIndex={0} role="region" aria-label="Results by position">
        <table class={css.table}>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {addresses !== undefined && <th scope="col">Address</th>}
              <th scope="col">Verdict</th>
            </tr>
          </thead>
          <tbody>
            {wanted.slice(0, shown).map((result) => (
              <tr>
                <td>{result.position + 1}</td>
                {addresses !== undefined && <td class="address">{addresses[result.position]}</td>}
                <td>{nameOf(result.status)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {wanted.length > shown && (
        <Actions>
          <Button onClick={() => setShown(shown + ROWS)}>Show more rows</Button>
          <span class="quiet">
            {number.format(shown)} of {number.format(wanted.length)}
          </span>
        </Actions>
      )}
    </Card>
  );
}
