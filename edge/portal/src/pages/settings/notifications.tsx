// Notifications about the end of a scan and the use of the daily checks: emails, and a request to the owner's own
// server.
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
      <Card id="notifications" title="Emails" split>
        <Loaded resource={settings} skeleton={["line", "line"]} what="your notifications">
          {(now) => (
            <>
              <Email
                name="scan_email"
                label="Email me when a scan has ended"
                more="With the counts of each verdict, without the list’s name. Ends within ten minutes share an email."
                settings={now}
                onChanged={settings.set}
              />
              <Email
                name="allowance_email"
                label="Email me when my daily checks run out"
                more="When 80 % and when all are used and no welcome checks are left, at most once a week each."
                settings={now}
                onChanged={settings.set}
              />
            </>
          )}
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

interface EmailProps {
  name: "scan_email" | "allowance_email";
  label: string;
  more: string;
  settings: Settings;
  onChanged: (settings: Settings) => void;
}

function Email({ name, label, more, settings, onChanged }: EmailProps) {
  const submission = useSubmission(async () => {
    onChanged(await call("put", "/v1/notifications", "session", { [name]: !settings[name] }));
  });
  return (
    <>
      <Tick name={name} label={label} checked={settings[name]} onChecked={() => void submission.run()} />
      <p class="quiet">{more}</p>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
    </>
  );
}
