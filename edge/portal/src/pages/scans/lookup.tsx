// The results of a scan row by row, next to the reader's own list if available, and as a file.
import { useState } from "preact/hooks";
import type { Scan, ScanResult } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { download } from "../../ui/download";
import { Tick } from "../../ui/field";
import { VERDICTS, type VerdictName, titleOf, verdictOf } from "../../words/scan-verdicts";
import { counted } from "../../words/times";
import page from "../scans.module.css";
import { ChooseAgain } from "./choose-again";
import { type KnownList, listOf } from "./list/known";
import css from "./results.module.css";
import { csvOf, hasTraits, nameOf } from "./table";
import { ResultTable } from "./result-table";

const number = new Intl.NumberFormat("en");
/** Rows shown at a time. */
const ROWS = 100;

interface LookupProps {
  scan: Scan;
  results: readonly ScanResult[];
}

export function Lookup({ scan, results }: LookupProps) {
  const [known, setKnown] = useState<KnownList | undefined>(() => listOf(scan.id));
  const [only, setOnly] = useState<VerdictName>();
  const [withoutTraits, setWithoutTraits] = useState(false);
  const [shown, setShown] = useState(ROWS);
  const traits = results.some(hasTraits);
  const wanted = results.filter(
    (result) => (only === undefined || verdictOf(result) === only) && !(withoutTraits && hasTraits(result)),
  );
  const interim = results.filter(({ final }) => final === false).length;

  async function save() {
    const table = { known, results: wanted, only, withoutTraits };
    download(await csvOf(table), nameOf(scan, only));
  }

  return (
    <Card id="results" title="Results">
      {known === undefined && <ChooseAgain scan={scan} onKnown={setKnown} />}
      {(known?.list.figures.notInScan ?? 0) > 0 && (
        <p class="quiet" role="status">
          {`${counted(known?.list.figures.notInScan ?? 0, "row")} of this file ${known?.list.figures.notInScan === 1 ? "wasn’t" : "weren’t"} in the scan and ${known?.list.figures.notInScan === 1 ? "has" : "have"} no verdict.`}
        </p>
      )}
      {interim > 0 && (
        <p class="quiet">
          {number.format(interim)} of these verdicts {interim === 1 ? "isn’t" : "aren’t"} final.
        </p>
      )}
      <div class={css.tools}>
        <label class={page.choice}>
          Show
          <select
            value={only ?? ""}
            onChange={(event) => {
              setOnly(VERDICTS.find(({ name }) => name === event.currentTarget.value)?.name);
              setShown(ROWS);
            }}
          >
            <option value="">All verdicts</option>
            {VERDICTS.map(({ name, title }) => (
              <option value={name}>{title}</option>
            ))}
          </select>
        </label>
        <Button kind="primary" onClick={() => void save()}>
          {only === undefined ? "Download CSV" : `Download ${titleOf(only).toLowerCase()} as CSV`}
        </Button>
      </div>
      {traits && (
        <Tick
          name="without-traits"
          label="Without throw-away addresses and role accounts"
          checked={withoutTraits}
          onChecked={setWithoutTraits}
        />
      )}
      {wanted.length === 0 ? (
        <p class={page.none} role="status">
          {only === undefined ? "No verdicts yet." : `No address is ${titleOf(only).toLowerCase()}.`}
        </p>
      ) : (
        <ResultTable results={wanted.slice(0, shown)} known={known} />
      )}
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
