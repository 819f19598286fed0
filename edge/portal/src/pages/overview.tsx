// The member's first page: a check, the addresses checked in this tab, and today's remaining checks.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { type Greeting, takeGreeting } from "../greeting";
import { Card } from "../ui/card";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { OpenChanges } from "../ui/open-changes";
import { Loaded, useResource } from "../ui/resource";
import css from "./overview.module.css";
import { Allowances } from "./overview/allowances";
import { CheckBox } from "./overview/check-box";
import { CheckedList } from "./overview/checked-list";
import { Lists } from "./overview/lists";
import { InYourCode } from "./overview/in-your-code";
import { UsageChart } from "./overview/usage-chart";

const GREETINGS: Record<Greeting, { title: string; text: string }> = {
  confirmed: {
    title: "Your address has been confirmed, and you’re signed in.",
    text: "Try an address below. Your API key is ready on the API key page.",
  },
  "password-set": {
    title: "Your new password has been set, and you’re signed in.",
    text: "You’ve been signed out on every other device.",
  },
};

export default function Overview() {
  const [greeting] = useState(takeGreeting);
  const quota = useResource(() => call("get", "/v1/me/quota", "session"));
  const usage = useResource(() => call("get", "/v1/me/usage", "session"));
  const account = useResource(() => call("get", "/v1/me", "session"));
  // Somebody who scans lists and calls no API came for lists.
  const scansLists = (quota.data?.total_scans ?? 0) > 0;
  const forLists = scansLists && account.data?.key_last_used === null;
  return (
    <Page title="Overview">
      {greeting !== undefined && (
        <Notice tone="good" title={GREETINGS[greeting].title}>
          <p>{GREETINGS[greeting].text}</p>
        </Notice>
      )}
      {account.data !== undefined && <OpenChanges account={account.data} onStopped={account.reload} />}
      <div class={css.columns}>
        <div class={css.column}>
          <Card id="check" title="Check an address">
            <CheckBox
              onCounted={() => {
                void quota.reload();
                void usage.reload();
              }}
            />
          </Card>
          <CheckedList />
          {scansLists && <Lists left={quota.data?.scans} />}
          {quota.data !== undefined && account.data !== undefined && !forLists && <InYourCode />}
        </div>
        <div class={css.column}>
          <Card id="today" title="Today">
            <Loaded resource={quota} skeleton={["line", "line", "line"]} what="your allowances">
              {(report) => <Allowances report={report} />}
            </Loaded>
          </Card>
          <Card id="usage" title="Checks in the last 30 days">
            {usage.problem === undefined ? (
              <Loaded resource={usage} skeleton={["block"]} what="your checks by day">
                {({ days }) => <UsageChart days={days} />}
              </Loaded>
            ) : (
              <p class="quiet">We couldn’t load your checks by day. Reload the page to try again.</p>
            )}
          </Card>
        </div>
      </div>
    </Page>
  );
}
