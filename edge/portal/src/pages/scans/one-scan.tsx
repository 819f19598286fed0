// One scan: how far it is, and what has come of it.
import { useLocation } from "preact-iso/router";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../../api/problem";
import { type Scan, cancel, remove, show } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { useSubmission } from "../../ui/form";
import { Meter } from "../../ui/meter";
import { Notice, ProblemNotice } from "../../ui/notice";
import { Page } from "../../ui/page";
import { Skeleton } from "../../ui/resource";
import { day, duration } from "../../words/times";
import { Results } from "./results";
import { STATES } from "./words";

const number = new Intl.NumberFormat("en");
/** Milliseconds between two looks: a short scan is followed closely, a long one is left alone. */
const SOON = 1_500;
const LATER = 15_000;

export function OneScan({ id }: { id: string }) {
  const [scan, setScan] = useState<Scan>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    let timer = 0;
    let wait = SOON;
    let left = false;
    async function look() {
      try {
        const scan = await show(id);
        if (left) return;
        setProblem(undefined);
        setScan(scan);
        if (scan.completed_at !== null && scan.completed_at !== undefined) return;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        if (left) return;
        setProblem(error);
        if (!error.passes) return;
      }
      timer = window.setTimeout(() => void look(), wait);
      wait = Math.min(LATER, wait * 1.3);
    }
    void look();
    return () => {
      left = true;
      window.clearTimeout(timer);
    };
  }, [id]);

  return (
    <Page
      title={scan === undefined || scan.name === "" ? "Scan" : scan.name}
      above={{ href: "/scans", text: "All scans" }}
    >
      {problem !== undefined && <ProblemNotice problem={problem} />}
      {scan === undefined ? (
        problem === undefined && <Skeleton label="Loading the scan" bones={["line", "block"]} />
      ) : (
        <>
          <Progress scan={scan} />
          {scan.answered > 0 && <Results scan={scan} />}
          <Ending scan={scan} onScan={setScan} />
        </>
      )}
    </Page>
  );
}

function Progress({ scan }: { scan: Scan }) {
  const left = scan.estimated_seconds_left;
  return (
    <Card id="progress" title={STATES[scan.state]?.name ?? scan.state}>
      <Meter
        label="Addresses with a verdict"
        value={scan.answered}
        max={scan.total}
        text={`${number.format(scan.answered)} of ${number.format(scan.total)}`}
        goal
      />
      <p role="status">
        <strong>{number.format(scan.answered)}</strong> of {number.format(scan.total)} addresses have a
        verdict.
        {scan.waiting > 0 && ` ${number.format(scan.waiting)} will be asked again later.`}
        {typeof left === "number" && ` About ${duration(left)} left.`}
      </p>
      <p class="quiet">{STATES[scan.state]?.text}</p>
      {typeof scan.results_until === "string" && (
        <p class="quiet">The results will be removed on {day(scan.results_until)}.</p>
      )}
    </Card>
  );
}

function Ending({ scan, onScan }: { scan: Scan; onScan: (scan: Scan) => void }) {
  const { route } = useLocation();
  const [asked, setAsked] = useState(false);
  const cancelling = useSubmission(async () => onScan(await cancel(scan.id)));
  const removing = useSubmission(async () => {
    await remove(scan.id);
    route("/scans");
  });
  const runs = scan.state === "open" || scan.state === "running";
  return (
    <Card id="ending" title={runs ? "Stop or delete this scan" : "Delete this scan"}>
      {cancelling.problem !== undefined && <ProblemNotice problem={cancelling.problem} />}
      <Actions>
        {runs && (
          <Button busy={cancelling.busy} busyLabel="Stopping…" onClick={() => void cancelling.run()}>
            Stop the scan
          </Button>
        )}
        <Button kind="danger" onClick={() => setAsked(true)}>
          Delete the scan
        </Button>
      </Actions>
      {asked && (
        <Dialog title="Delete this scan?" onClose={() => setAsked(false)}>
          <Notice tone="unknown">
            <p>Its results will be gone for good.</p>
          </Notice>
          {removing.problem !== undefined && <ProblemNotice problem={removing.problem} />}
          <Actions>
            <Button
              kind="destroy"
              busy={removing.busy}
              busyLabel="Deleting…"
              onClick={() => void removing.run()}
            >
              Delete for good
            </Button>
            <Button onClick={() => setAsked(false)}>Keep it</Button>
          </Actions>
        </Dialog>
      )}
    </Card>
  );
}
