// Scans: a new one, the list of scans, and a single scan.
import { useLocation } from "preact-iso/router";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Schemas, call } from "../api/client";
import { list } from "../api/scans";
import { Actions } from "../ui/actions";
import { Button } from "../ui/button";
import { Card } from "../ui/card";
import { useSubmission } from "../ui/form";
import { ProblemNotice } from "../ui/notice";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import css from "./scans.module.css";
import { NewScan } from "./scans/new-scan";
import { OneScan } from "./scans/one-scan";
import { ScanList } from "./scans/scan-list";

const scansOf = (count: number) => `${number.format(count)} ${count === 1 ? "scan" : "scans"}`;

const number = new Intl.NumberFormat("en");

export default function Scans() {
  const { query } = useLocation();
  const id = query["id"];
  return id === undefined ? <All /> : <OneScan key={id} id={id} />;
}

function All() {
  const quota = useResource(() => call("get", "/v1/me/quota", "session"));
  const scans = useResource(() => list());
  return (
    <Page
      title="Scans"
      lead="Check a whole list in the background. We keep the verdicts by row, never the addresses, so keep a copy of the file."
    >
      <Card id="new" title="New scan">
        <Loaded resource={quota} skeleton={["line", "block"]} what="your allowance">
          {({ scans: allowance, unlimited, resets_at }) => (
            <>
              <p class="quiet">
                {unlimited
                  ? "As many scans as you like"
                  : `${scansOf(allowance.left_today)} left today, of ${number.format(allowance.daily_allowance)}`}
                {allowance.credits > 0 && `, and ${number.format(allowance.credits)} credits`}. Up to{" "}
                {number.format(allowance.scan_size)} addresses each.
              </p>
              <NewScan allowance={allowance} resetsAt={resets_at} />
            </>
          )}
        </Loaded>
      </Card>
      <Card id="scans" title="Your scans">
        <Loaded resource={scans} skeleton={["line", "line"]} what="your scans">
          {(first) =>
            first.scans.length === 0 ? (
              <p class={css.none}>
                <strong>None yet.</strong> Scan a list above, and its verdicts will be here for a week.
              </p>
            ) : (
              <List first={first} />
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

/** Shows the newest scans, and older ones on request. */
function List({ first }: { first: Schemas["ScanPage"] }) {
  const [{ scans, next }, setShown] = useState(first);
  /** Index of the first scan of the page loaded last. */
  const [begin, setBegin] = useState(0);
  const beginning = useRef<HTMLAnchorElement>(null);
  const showOlder = useSubmission(async () => {
    if (next === null) return;
    const older = await list(next);
    setShown({ scans: [...scans, ...older.scans], next: older.next });
    setBegin(scans.length);
  });
  // The focus moves to the first of the older scans, because the button may have disappeared.
  useEffect(() => beginning.current?.focus(), [begin]);
  return (
    <>
      <ScanList scans={scans} focused={begin} link={beginning} />
      {showOlder.problem !== undefined && <ProblemNotice problem={showOlder.problem} />}
      {next !== null && (
        <Actions>
          <Button busy={showOlder.busy} busyLabel="Loading…" onClick={() => void showOlder.run()}>
            Show older scans
          </Button>
        </Actions>
      )}
    </>
  );
}
