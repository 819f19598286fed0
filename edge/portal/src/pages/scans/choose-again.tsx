// Asks for a scan's list again, and joins a file with the verdicts only if it is that list.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Scan } from "../../api/scans";
import { Card } from "../../ui/card";
import { useSubmission } from "../../ui/form";
import { Notice, ProblemNotice } from "../../ui/notice";
import { type Kept, recall } from "./list/kept";
import { type KnownList, keepList } from "./list/known";
import { type List, reformed, reread } from "./list/read";
import { type Refusal, recognise } from "./list/recognise";
import { ListSource } from "./list-source";
import { Reading } from "./reading";

const number = new Intl.NumberFormat("en");

interface ChooseAgainProps {
  scan: Scan;
  onKnown: (known: KnownList) => void;
}

export function ChooseAgain({ scan, onKnown }: ChooseAgainProps) {
  const [refusal, setRefusal] = useState<{ why: Refusal; list: List }>();
  const list = useRef<List | undefined>(undefined);
  const submission = useSubmission(async () => {
    if (list.current === undefined) return;
    setRefusal(undefined);
    const found = await recognise(scan, list.current);
    if ("refused" in found) return setRefusal({ why: found.refused, list: list.current });
    keepList(scan.id, found.known);
    onKnown(found.known);
  });
  function compare(chosen: List): Promise<void> {
    list.current = chosen;
    return submission.run();
  }

  return (
    <Card id="file" title={scan.state === "open" ? "Send the rest" : "Your file"}>
      <p>
        {scan.state === "open"
          ? "Choose the same file again. What has been sent stays, and the rest follows."
          : "We don’t keep your addresses. Choose your file again to see them beside their verdicts, and to download it with them."}
      </p>
      <ListSource onList={compare} pastes />
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
      {refusal !== undefined && (
        <Notice
          tone="bad"
          title={
            refusal.why === "unsure" ? "This may be another list." : "This isn’t the list that was scanned."
          }
        >
          <p>{REFUSALS[refusal.why]}</p>
          <Wanted scan={scan} />
          <p>The results are below, in the order in which the addresses were checked.</p>
        </Notice>
      )}
      {refusal !== undefined && (
        <Reading
          list={refusal.list}
          onColumn={(column) => void reformed(refusal.list, { column }).then(compare)}
          onChoices={(choices) => void reread(refusal.list, choices).then(compare)}
        />
      )}
    </Card>
  );
}

const REFUSALS: Record<Refusal, string> = {
  other: "None of its addresses was in this scan, or not in this column.",
  cut: "Some of its addresses haven’t been sent and aren’t in this file. Choose the file as it was.",
  size: "It has another number of addresses, so no verdict is shown beside them.",
  differs: "Its addresses differ or are in another order, so no verdict is shown beside them.",
  unsure: "We can’t tell whether its addresses are the same, so no verdict is shown beside them.",
};

/** Describes the file that the reader has to choose. */
function Wanted({ scan }: { scan: Scan }) {
  const [remembered, setRemembered] = useState<Kept>();
  useEffect(() => void recall(scan.id).then(setRemembered), [scan.id]);
  const file = remembered?.file ?? scan.name;
  return (
    <p>
      Wanted: {file === "" ? "the file" : <strong class="address">{file}</strong>} with{" "}
      {number.format(scan.total)} {scan.total === 1 ? "address" : "addresses"}
      {remembered?.column != null && ` in the column “${remembered.column}”`}
      {remembered === undefined ? ", as it was, in the same order." : ", in any order."}
    </p>
  );
}
