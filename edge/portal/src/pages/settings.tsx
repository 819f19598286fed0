// The account's settings, one card for each.
import { call } from "../api/client";
import { Card } from "../ui/card";
import { Lead, Page } from "../ui/page";
import { PendingRecovery } from "../ui/pending-recovery";
import { Loaded, useResource } from "../ui/resource";
import { day } from "../words/times";
import css from "./settings.module.css";
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

/** Ids and titles of the cards, in order. */
const PARTS = [
  ["plan", "Plan"],
  ["name", "Display name"],
  ["email", "Email address"],
  ["password", "Password"],
  ["two-factor", "Two-factor"],
  ["passkeys", "Passkeys"],
  ["keys", "API key"],
  ["notifications", "Scan emails"],
  ["webhook", "Webhook"],
  ["sessions", "Sessions"],
  ["activity", "Security events"],
  ["data", "Your data"],
  ["delete", "Delete account"],
] as const;

export default function Settings() {
  const account = useResource(() => call("get", "/v1/me", "session"));
  return (
    <Page title="Settings">
      <Loaded resource={account} skeleton={["line", "block", "block"]} what="your settings">
        {(me) => (
          <>
            <Lead>
              <strong class="address">{me.email}</strong> is on the {me.plan} plan. With us since{" "}
              {day(me.created_at)}.
            </Lead>
            <PendingRecovery account={me} onStopped={account.reload} />
            <div class={css.settings}>
              <nav class={css.parts} aria-label="Settings">
                <ul>
                  {PARTS.map(([id, text]) => (
                    <li>
                      <a href={`#${id}`}>{text}</a>
                    </li>
                  ))}
                </ul>
              </nav>
              <div class={css.cards}>
                <Plan name={me.plan} />
                <DisplayName
                  name={me.display_name}
                  onChanged={(display_name) => account.set({ ...me, display_name })}
                />
                <ChangeEmail email={me.email} twoFactor={me.two_factor} />
                <ChangePassword email={me.email} />
                <TwoFactor account={me} onChanged={account.reload} />
                <Passkeys email={me.email} twoFactor={me.two_factor} />
                <Card id="keys" title="API key" split>
                  <p>
                    See, copy and replace it, and make named keys, on the <a href="/api-key">API key page</a>.
                  </p>
                </Card>
                <Notifications />
                <Sessions />
                <SecurityEvents />
                <ExportData />
                <DeleteAccount email={me.email} twoFactor={me.two_factor} />
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}
