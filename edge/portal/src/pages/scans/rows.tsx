// The results of a scan row by row, next to the reader's own list if it is there.
import { useEffect, useState } from "preact/hooks";
import type { ScanResult } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { titleOf } from "../../words/scan-verdicts";
import page from "../scans.module.css";
import type { KnownList } from "./list/known";
import { meantBy } from "./list/read";
import { ResultTable } from "./result-table";
import { type Selection, codesOf, isSelected } from "./table";

const number = new Intl.NumberFormat("en");
/** Rows shown at a time. */
const ROWS = 100;

interface RowsProps {
  results: readonly ScanResult[];
  known: KnownList | undefined;
  selection: Selection;
}

export function Rows({ results, known, selection }: RowsProps) {
  const { only } = selection;
  const [shown, setShown] = useState(ROWS);
  useEffect(() => setShown(ROWS), [only]);
  const [meant, setMeant] = useState<readonly string[]>([]);
  useEffect(() => {
    if (known === undefined) return;
    let left = false;
    void meantBy(known.list, codesOf(known.sent.addresses.length, results)).then(
      (found) => !left && setMeant(found),
    );
    return () => {
      left = true;
    };
  }, [known, results]);
  const wanted = results.filter((result) => isSelected(result, selection));
  return (
    <Card id="results" title={only === undefined ? "Rows" : `Rows: ${titleOf(only).toLowerCase()}`}>
      {wanted.length === 0 ? (
        <p class={page.none} role="status">
          {only === undefined ? "No verdicts yet." : `No address is ${titleOf(only).toLowerCase()}.`}
        </p>
      ) : (
        <ResultTable results={wanted.slice(0, shown)} known={known} meant={meant} />
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
