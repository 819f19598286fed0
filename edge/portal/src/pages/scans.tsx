// Scans: a new one, the list of scans, and a single scan.
import { useLocation } from "preact-iso/router";
import { call } from "../api/client";
import { type Scan, list } from "../api/scans";
import { Card } from "../ui/card";
import { Page } from "../ui/page";
import { Loaded, useResource } from "../ui/resource";
import { day } from "../words/times";
import css from "./scans.module.css";
import { NewScan } from "./scans/new-scan";
import { OneScan } from "./scans/one-scan";
import { STATES } from "./scans/words";

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
      lead="Check a whole list in the background. We keep the verdicts by row, never the addresses."
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
          {({ scans }) =>
            scans.length === 0 ? (
              <p class={css.none}>
                <strong>None yet.</strong> Scan a list above, and its verdicts will be here for a week.
              </p>
            ) : (
              <List scans={scans} />
            )
          }
        </Loaded>
      </Card>
    </Page>
  );
}

function List({ scans }: { scans: Scan[] }) {
  return (
    <ul class={css.scans}>
      {scans.map((scan) => (
        <li>
          <a class={css.scanName} href={`/scans?id=${scan.id}`}>
            {scan.name === "" ? `Scan of ${day(scan.created_at)}` : scan.name}
          </a>
          <span class={css.state} data-tone={STATES[scan.state]?.tone}>
            {STATES[scan.state]?.name ?? scan.state}
          </span>
          <span class={css.progress}>
            {number.format(scan.answered)} of {number.format(scan.total)} addresses
          </span>
          <time class={css.when} dateTime={scan.created_at}>
            {day(scan.created_at)}
          </time>
        </li>
      ))}
    </ul>
  );
}
