// Notifications about the end of a scan: an email, and a request to the owner's own server.
import { type Schemas, call } from "../../api/client";
import { Card } from "../../ui/card";
import { Tick } from "../../ui/field";
import { useSubmission } from "../../ui/form";
import { ProblemNotice } from "../../ui/notice";
import { Loaded, useResource } from "../../ui/resource";
import { Webhook } from "./webhook";

type Settings = Schemas["Notifications"];

export function Notifications() {
  const settings = useResource(() => call("get", "/v1/notifications", "session"));
  return (
    <>
      <Card id="notifications" title="When a scan ends" split>
        <Loaded resource={settings} skeleton={["line"]} what="your notifications">
          {(now) => <Email wanted={now.scan_email} onChanged={settings.set} />}
        </Loaded>
      </Card>
      <Card id="webhook" title="Webhook" split>
        <Loaded resource={settings} skeleton={["line", "line"]} what="your webhook">
          {(now) => <Webhook settings={now} onChanged={settings.set} onTested={settings.reload} />}
        </Loaded>
      </Card>
    </>
  );
}

function Email({ wanted, onChanged }: { wanted: boolean; onChanged: (settings: Settings) => void }) {
  const submission = useSubmission(async () => {
    onChanged(await call("put", "/v1/notifications", "session", { scan_email: !wanted }));
  });
  return (
    <>
      <Tick
        name="scan_email"
        label="Email me when a scan has ended"
        checked={wanted}
        onChecked={() => void submission.run()}
      />
      <p class="quiet">
        With the counts of each verdict, without the list’s name. Ends within ten minutes share an email.
      </p>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
    </>
  );
}
