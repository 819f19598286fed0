// The webhook: its URL, its secret, a test, and recent deliveries.
import { useState } from "preact/hooks";
import { type Schemas, call } from "../../api/client";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { KeyBox } from "../../ui/key-box";
import { Notice, ProblemNotice } from "../../ui/notice";
import { counted, moment } from "../../words/times";
import css from "./sessions.module.css";

type Settings = Schemas["Notifications"];
type Delivery = Schemas["Delivery"];

interface WebhookProps {
  settings: Settings;
  onChanged: (settings: Settings) => void;
  onTested: () => Promise<void>;
}

const AT_FIELD = ["invalid_webhook", "webhook_not_public"];

export function Webhook({ settings, onChanged, onTested }: WebhookProps) {
  const [url, setUrl] = useState(settings.webhook_url ?? "");
  const [saved, setSaved] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    onChanged(await call("put", "/v1/notifications", "session", { webhook_url: url.trim() }));
    setSaved(true);
  });
  return (
    <>
      <p class="quiet">
        When a scan ends or your daily checks run out, we tell your server with a Standard Webhook. It
        contains no addresses. The <a href="/webhooks">webhooks page</a> shows the event and how to verify it.
      </p>
      <Form
        submission={submission}
        check={() => ({ url: mistakeOf(url.trim()) })}
        onMistakes={(found) => {
          setMistakes(found);
          setSaved(false);
        }}
        shownAtField={AT_FIELD}
        label="Save webhook"
        busyLabel="Saving…"
      >
        <Field
          label="URL"
          name="webhook_url"
          autocomplete="off"
          inputMode="url"
          placeholder="https://hooks.example.com/rcpt"
          value={url}
          onValue={(typed) => {
            setUrl(typed);
            setSaved(false);
          }}
          mono
          mistake={mistakes["url"] ?? submission.told(AT_FIELD)}
        />
        {saved && (
          <Notice tone="good">
            <p>Saved.</p>
          </Notice>
        )}
      </Form>
      {typeof settings.webhook_secret === "string" && (
        <Live
          settings={settings}
          secret={settings.webhook_secret}
          onChanged={(changed) => {
            if (changed.webhook_url == null) setUrl("");
            setSaved(false);
            onChanged(changed);
          }}
          onTested={onTested}
        />
      )}
    </>
  );
}

/** Returns a mistake in a URL that the service would reject, too. */
function mistakeOf(url: string): string | undefined {
  if (url === "") return "Enter the URL of your server.";
  return url.startsWith("https://") ? undefined : "The URL must begin with https://.";
}

function Live({ settings, secret, onChanged, onTested }: WebhookProps & { secret: string }) {
  const [asking, setAsking] = useState<"secret" | "removal">();
  const [tested, setTested] = useState<Delivery>();
  const test = useSubmission(async () => {
    setTested(undefined);
    setTested(await call("post", "/v1/notifications/test", "session"));
    await onTested();
  });
  const change = useSubmission(async () => {
    onChanged(
      asking === "secret"
        ? await call("post", "/v1/notifications/secret", "session")
        : await call("put", "/v1/notifications", "session", { webhook_url: "" }),
    );
    setAsking(undefined);
  });
  const close = () => setAsking(undefined);
  const both = settings.previous_secret_until;
  return (
    <>
      <h3>Secret</h3>
      <KeyBox key={secret} apiKey={secret} what="webhook secret" />
      {both != null && <p class="quiet">The secret before this one signs too until {moment(both)}.</p>}
      <Actions>
        <Button busy={test.busy} busyLabel="Sending…" onClick={() => void test.run()}>
          Send a test
        </Button>
        <Button onClick={() => setAsking("secret")}>Replace secret…</Button>
        <Button onClick={() => setAsking("removal")}>Remove webhook…</Button>
      </Actions>
      {test.problem !== undefined && <ProblemNotice problem={test.problem} />}
      <div role="status">
        {tested !== undefined && (
          <Notice tone={tested.state === "delivered" ? "good" : "unknown"}>
            <p>
              {tested.state === "delivered"
                ? "Your server took the test."
                : `The test failed: ${outcome(tested)}.`}
            </p>
          </Notice>
        )}
      </div>
      <Deliveries deliveries={settings.deliveries} />
      {asking === "secret" && (
        <Dialog title="Replace the secret?" onClose={close}>
          <p>For a day both secrets sign, so your server can change over without missing anything.</p>
          <Form
            submission={change}
            label="Replace secret"
            busyLabel="Replacing…"
            secondary={<Button onClick={close}>Keep it</Button>}
          />
        </Dialog>
      )}
      {asking === "removal" && (
        <Dialog title="Remove the webhook?" onClose={close}>
          <p>What hasn’t been delivered is dropped, and the list of deliveries is removed.</p>
          <Form
            submission={change}
            label="Remove webhook"
            busyLabel="Removing…"
            danger
            secondary={<Button onClick={close}>Keep it</Button>}
          />
        </Dialog>
      )}
    </>
  );
}

const EVENTS: Record<string, string> = {
  "scan.completed": "Scan completed",
  "scan.expired": "Scan expired",
  "webhook.test": "Test",
};

const PROBLEMS: Record<string, string> = {
  no_answer: "no answer, or not within five seconds",
  no_dns: "the name has no address",
  not_public: "the name leads to an address that isn’t public",
};

function outcome({ status, problem }: Delivery): string {
  if (status != null) return `HTTP ${status}`;
  return PROBLEMS[problem ?? ""] ?? "not sent yet";
}

function state(delivery: Delivery): string {
  if (delivery.state === "delivered") return `Delivered, ${outcome(delivery)}`;
  if (delivery.attempts === 0) return delivery.state === "pending" ? "Waiting" : "Not sent";
  const tried = `${outcome(delivery)}, tried ${delivery.attempts === 1 ? "once" : counted(delivery.attempts, "time")}`;
  return delivery.state === "pending" ? `${tried}, will be sent again` : `Failed: ${tried}`;
}

function Deliveries({ deliveries }: { deliveries: Delivery[] }) {
  return (
    <>
      <h3 id="deliveries">Last deliveries</h3>
      {deliveries.length === 0 ? (
        <p class="quiet">None yet.</p>
      ) : (
        <ul class={css.list} aria-labelledby="deliveries">
          {deliveries.map((delivery) => (
            <li key={delivery.id} class={css.item}>
              <span class={css.what}>
                <strong>{EVENTS[delivery.event] ?? delivery.event}</strong>
                <span class="quiet">
                  <time dateTime={delivery.attempted_at ?? delivery.created_at}>
                    {moment(delivery.attempted_at ?? delivery.created_at)}
                  </time>
                </span>
              </span>
              <span class="quiet">{state(delivery)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
