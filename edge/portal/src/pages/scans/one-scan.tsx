// A scan: its progress, its results, and buttons to stop or delete it.
import { useLocation } from "preact-iso/router";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../../api/problem";
import { type Scan, cancel, remove, show } from "../../api/scans";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Form, useSubmission } from "../../ui/form";
import { Meter } from "../../ui/meter";
import { Notice, ProblemNotice } from "../../ui/notice";
import { Page } from "../../ui/page";
import { Skeleton } from "../../ui/resource";
import { clock, day, duration } from "../../words/times";
import page from "../scans.module.css";
import { forget } from "./list/kept";
import { forgetList, listOf } from "./list/known";
import { useSending } from "./list/sending";
import css from "./one-scan.module.css";
import { Results } from "./results";
import { Unsent } from "./unsent";
import { STATES } from "./words";

const number = new Intl.NumberFormat("en");
/** Milliseconds between two polls: frequent for a short scan, rare for a long one. */
const SOON = 1_500;
const LATER = 15_000;

export function OneScan({ id }: { id: string }) {
  const [asked, setScan] = useState<Scan>();
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

  const [known, setKnown] = useState(() => listOf(id));
  // Its last answer is newer than what was asked for before.
  const sent = useSending(id)?.scan;
  const scan = sent !== undefined && asked !== undefined && sent.received > asked.received ? sent : asked;
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
          {scan.state === "open" && <Unsent scan={scan} known={known} onKnown={setKnown} />}
          {(scan.answered > 0 || scan.waiting > 0) && (
            <Results scan={scan} known={known} onKnown={setKnown} />
          )}
          <Ending scan={scan} onScan={setScan} />
        </>
      )}
    </Page>
  );
}

/** One line about the scan; a bar while it runs. */
function Progress({ scan }: { scan: Scan }) {
  const { name, tone, text } = STATES[scan.state] ?? { name: scan.state, tone: "plain", text: "" };
  const runs = scan.state === "open" || scan.state === "running";
  return (
    <div class={css.progress}>
      <p role="status">
        <span class={page.state} data-tone={tone}>
          {name}
        </span>{" "}
        {number.format(scan.answered)} of {number.format(scan.total)} addresses are done.
        {runs && scan.waiting > 0 && ` ${number.format(scan.waiting)} will be asked again${latest(scan)}.`}
        {runs && remaining(scan)}
        {typeof scan.results_until === "string" && ` The results stay until ${day(scan.results_until)}.`}
      </p>
      {runs && (
        <Meter
          label="Addresses with a final verdict"
          value={scan.answered}
          max={scan.total}
          text={`${number.format(scan.answered)} of ${number.format(scan.total)}`}
          goal
        />
      )}
      {text !== "" && <p class="quiet">{text}</p>}
    </div>
  );
}

/** Returns the latest time of the retries as a text. */
function latest({ retries_until }: Scan): string {
  return retries_until == null ? " later" : `, until ${clock(retries_until)} at the latest`;
}

function remaining({ estimated_seconds_left: left, waiting, retries_until }: Scan): string {
  if (waiting > 0 && retries_until == null)
    return " Servers that put us off are asked up to three more times, the last time after an hour or more.";
  return typeof left === "number" ? ` About ${duration(left)} left.` : "";
}

function Ending({ scan, onScan }: { scan: Scan; onScan: (scan: Scan) => void }) {
  const [asking, setAsking] = useState<"stop" | "delete">();
  const close = () => setAsking(undefined);
  const runs = scan.state === "open" || scan.state === "running";
  return (
    <Card id="ending" title={runs ? "Stop or delete this scan" : "Delete this scan"}>
      <Actions>
        {runs && <Button onClick={() => setAsking("stop")}>Stop the scan…</Button>}
        <Button kind="danger" onClick={() => setAsking("delete")}>
          Delete the scan…
        </Button>
      </Actions>
      {asking === "stop" && <StopDialog scan={scan} onScan={onScan} onClose={close} />}
      {asking === "delete" && <DeleteDialog scan={scan} onClose={close} />}
    </Card>
  );
}

interface StopDialogProps {
  scan: Scan;
  onScan: (scan: Scan) => void;
  onClose: () => void;
}

function StopDialog({ scan, onScan, onClose }: StopDialogProps) {
  const stopping = useSubmission(async () => {
    onScan(await cancel(scan.id));
    onClose();
  });
  const missing = scan.total - scan.answered;
  return (
    <Dialog title="Stop this scan?" onClose={onClose}>
      <p>
        {number.format(missing)} of {number.format(scan.total)} addresses won’t get a final verdict. What’s
        known of them by now stays, marked as not final.
      </p>
      <p>A stopped scan can’t be continued. It counts as a scan, unless no address was checked yet.</p>
      <Form
        submission={stopping}
        label="Stop the scan"
        busyLabel="Stopping…"
        danger
        secondary={<Button onClick={onClose}>Keep it running</Button>}
      />
    </Dialog>
  );
}

function DeleteDialog({ scan, onClose }: { scan: Scan; onClose: () => void }) {
  const { route } = useLocation();
  const removing = useSubmission(async () => {
    await remove(scan.id);
    await forget(scan.id);
    forgetList(scan.id);
    route("/scans");
  });
  return (
    <Dialog title="Delete this scan?" onClose={onClose}>
      <Notice tone="unknown">
        <p>Its results will be gone for good.</p>
      </Notice>
      <Form
        submission={removing}
        label="Delete for good"
        busyLabel="Deleting…"
        danger
        secondary={<Button onClick={onClose}>Keep it</Button>}
      />
    </Dialog>
  );
}
