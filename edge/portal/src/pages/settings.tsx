// The account's settings, in groups with their own addresses.
import type { ComponentChildren } from "preact";
import { type Schemas, call } from "../api/client";
import * as session from "../session";
import { Lead, Page } from "../ui/page";
import { OpenChanges } from "../ui/open-changes";
import { Loaded, type Resource, useResource } from "../ui/resource";
import { SETTINGS, Sections } from "../ui/sections";
import { day } from "../words/times";
import { ChangeEmail } from "./settings/change-email";
import { ChangePassword } from "./settings/change-password";
import { DeleteAccount } from "./settings/delete-account";
import { DisplayName } from "./settings/display-name";
import { ExportData } from "./settings/export-data";
import { Notifications } from "./settings/notifications";
import { Passkeys } from "./settings/passkeys";
import { Plan } from "./settings/plan";
import { SecurityEvents } from "./settings/security-events";
import { Sessions } from "./settings/sessions";
import { TwoFactor } from "./settings/two-factor";

type Account = Schemas["Account"];

export const Settings = () => (
  <Group title="Settings">
    {(me, account) => (
      <>
        <Lead>
          <strong class="address">{me.email}</strong>. With us since {day(me.created_at)}.
        </Lead>
        <OpenChanges account={me} onStopped={account.reload} />
        <DisplayName
          name={me.display_name}
          onChanged={(display_name) => account.set({ ...me, display_name })}
        />
        <ChangeEmail email={me.email} twoFactor={me.two_factor} />
        <ExportData />
        <DeleteAccount email={me.email} twoFactor={me.two_factor} />
      </>
    )}
  </Group>
);

export const SecuritySettings = () => (
  <Group title="Security">
    {(me, account) => (
      <>
        <OpenChanges account={me} onStopped={account.reload} />
        <ChangePassword email={me.email} onChanged={account.reload} />
        <TwoFactor account={me} onChanged={account.reload} />
        <Passkeys email={me.email} twoFactor={me.two_factor} />
        <Sessions />
        <SecurityEvents />
      </>
    )}
  </Group>
);

export const NotificationSettings = () => <Group title="Notifications">{() => <Notifications />}</Group>;

export const PlanSettings = () => <Group title="Plan">{({ plan }) => <Plan name={plan} />}</Group>;

interface GroupProps {
  title: string;
  children: (account: Account, resource: Resource<Account>) => ComponentChildren;
}

function Group({ title, children }: GroupProps) {
  const account = useResource(async () => {
    const me = await call("get", "/v1/me", "session");
    session.rename(me.email);
    return me;
  });
  return (
    <Page title={title} sections={<Sections label="Settings" links={SETTINGS} />}>
      <Loaded resource={account} skeleton={["line", "block", "block"]} what="your settings">
        {(me) => children(me, account)}
      </Loaded>
    </Page>
  );
}
