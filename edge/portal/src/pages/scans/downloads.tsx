// The reader's file with verdicts, all of it or a part, and a new scan of the addresses that stayed unknown.
import { useLocation } from "preact-iso/router";
import type { Scan, ScanResult } from "../../api/scans";
import { Button } from "../../ui/button";
import { download } from "../../ui/download";
import { Tick } from "../../ui/field";
import { titleOf, verdictOf } from "../../words/scan-verdicts";
import { counted } from "../../words/times";
import { type KnownList, keepDraft } from "./list/known";
import { readFile } from "./list/read";
import css from "./results.module.css";
import { type Selection, fileOf, hasTraits, nameOf } from "./table";

const number = new Intl.NumberFormat("en");

interface DownloadsProps {
  scan: Scan;
  results: readonly ScanResult[];
  known: KnownList | undefined;
  selection: Selection;
}

/** The buttons beside the shares. */
export function Downloads({ scan, results, known, selection }: DownloadsProps) {
  const { route } = useLocation();
  const { only } = selection;
  const unknown = results.filter((result) => verdictOf(result) === "unknown").length;
  const over = typeof scan.completed_at === "string";

  async function save() {
    download(await fileOf({ known, results, ...selection }), nameOf(scan, known, only));
  }

  async function scanUnknown({ list }: KnownList) {
    const part = { known, results, only: "unknown", withoutTraits: false, split: false } as const;
    const file = new File([await fileOf(part)], nameOf(scan, known, "unknown"));
    const { encoding, delimiter } = list;
    keepDraft(await readFile(file, list.isXlsx ? {} : { encoding, delimiter }));
    route("/scans");
  }

  return (
    <div class={css.buttons}>
      {over && unknown > 0 && known !== undefined && (
        <Button onClick={() => void scanUnknown(known)}>
          {`Scan the ${number.format(unknown)} unknown again…`}
        </Button>
      )}
      <Button kind="primary" onClick={() => void save()}>
        {only === undefined ? "Download all" : `Download ${titleOf(only).toLowerCase()}`}
      </Button>
    </div>
  );
}

interface FormProps extends Omit<DownloadsProps, "scan"> {
  onSelection: (selection: Selection) => void;
}

/** The form of a download, and notes about the file. */
export function DownloadForm({ results, known, selection, onSelection }: FormProps) {
  const interim = results.filter(({ final }) => final === false).length;
  const notes = notesOf(known, interim);
  const traits = results.some(hasTraits);
  const several = (known?.list.figures.several ?? 0) > 0;
  if (!traits && !several && notes === "") return null;
  return (
    <div class={css.form}>
      {traits && (
        <Tick
          name="without-traits"
          label="Without throw-away addresses and role accounts"
          checked={selection.withoutTraits}
          onChecked={(withoutTraits) => onSelection({ ...selection, withoutTraits })}
        />
      )}
      {several && (
        <Tick
          name="split"
          label="A row for each address of a cell"
          checked={selection.split}
          onChecked={(split) => onSelection({ ...selection, split })}
        />
      )}
      {notes !== "" && <p class="quiet">{notes}</p>}
    </div>
  );
}

/** Tells what the file has that isn't among the verdicts. */
function notesOf(known: KnownList | undefined, interim: number): string {
  const { notAnAddress = 0, empty = 0, notInScan = 0, repeated = 0 } = known?.list.figures ?? {};
  const once = known?.list.once === true && known.list.join === undefined;
  const notes = [
    interim > 0 && `${counted(interim, "verdict")} ${interim === 1 ? "isn’t" : "aren’t"} final yet.`,
    notAnAddress > 0 && `${counted(notAnAddress, "row")} can’t be read as an address.`,
    empty > 0 && `${counted(empty, "row")} ${empty === 1 ? "has" : "have"} no address.`,
    once &&
      repeated > 0 &&
      `${counted(repeated, "repeat")} ${repeated === 1 ? "has" : "have"} the same verdict.`,
    notInScan > 0 &&
      `${counted(notInScan, "row")} of this file ${notInScan === 1 ? "wasn’t" : "weren’t"} in the scan and ${notInScan === 1 ? "has" : "have"} no verdict.`,
  ];
  return notes.filter((note) => note !== false).join(" ");
}
