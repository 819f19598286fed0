// The sign-up guard: what the owner's forms reject, a field to try it, and the hook for Supabase.
import { useState } from "preact/hooks";
import { type Schemas, call } from "../api/client";
import { Actions } from "../ui/actions";
import { Button } from "../ui/button";
import { Card } from "../ui/card";
import { Code } from "../ui/code";
import { Copy } from "../ui/copy";
import { Dialog } from "../ui/dialog";
import { Field, Tick } from "../ui/field";
import { Form, LineForm, type Mistakes, useSubmission } from "../ui/form";
import { KeyBox } from "../ui/key-box";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { Loaded, type Resource, useResource } from "../ui/resource";
import { DEVELOPERS, Sections } from "../ui/sections";
import { refusedKind, whyAllowed } from "../words/guard";
import { counted, moment, utcDay } from "../words/times";
import { isDomain } from "../words/domains";
import css from "./guard.module.css";

type Policy = Schemas["GuardPolicy"];
type Decision = Schemas["Decision"];
type Kind = Policy["refuse"][number];

const KINDS: readonly (readonly [Kind, string])[] = [
  ["invalid", "Texts that aren’t an email address"],
  ["undeliverable", "Addresses that can’t receive email"],
  ["disposable", "Throw-away mailboxes"],
  ["suspected", "Domains with a throw-away service’s mail server"],
  ["parked", "Parked domains"],
  ["relay", "Forwarding services, such as Hide My Email"],
  ["role", "Shared addresses, such as info@"],
];

export default function Guard() {
  const policy = useResource(() => call("get", "/v1/guard", "session"));
  return (
    <Page
      title="Sign-up guard"
      sections={<Sections label="Developers" links={DEVELOPERS} />}
      lead="Keeps unwanted addresses out of your sign-up form. If an address can’t be checked in time, the sign-up continues."
    >
      <Loaded resource={policy} skeleton={["block", "block"]} what="your policy">
        {(loaded) => (
          <>
            <Card id="policy" title="What to refuse">
              <Rules policy={loaded} onSaved={policy.set} />
            </Card>
            <Card id="try" title="Try it">
              <TryIt onTried={policy.reload} />
            </Card>
            {loaded.supabase != null && (
              <Card id="supabase" title="Supabase">
                <Supabase hook={loaded.supabase} policy={policy} />
              </Card>
            )}
            <Card id="refused" title="Refused in the last 30 days">
              <Refusals refusals={loaded.refusals} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Maximum number of domains in a list. */
const DOMAINS = 200;

function mistakeOf(domains: string[]): string | undefined {
  const wrong = domains.find((domain) => !isDomain(domain));
  if (wrong !== undefined) return `“${wrong}” isn’t a domain. Enter names such as example.org.`;
  return domains.length > DOMAINS ? `Enter at most ${DOMAINS} domains.` : undefined;
}

const listed = (text: string) => text.split(/[\s,;]+/).filter((domain) => domain !== "");

function Rules({ policy, onSaved }: { policy: Policy; onSaved: (policy: Policy) => void }) {
  const [refuse, setRefuse] = useState(policy.refuse);
  const [allow, setAllow] = useState(policy.allow_domains.join(", "));
  const [block, setBlock] = useState(policy.block_domains.join(", "));
  const [saved, setSaved] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const changing =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setSaved(false);
    };
  const submission = useSubmission(async () => {
    const body = { refuse, allow_domains: listed(allow), block_domains: listed(block) };
    onSaved(await call("put", "/v1/guard", "session", body));
    setSaved(true);
  });
  return (
    <Form
      submission={submission}
      check={() => ({ allow: mistakeOf(listed(allow)), block: mistakeOf(listed(block)) })}
      onMistakes={setMistakes}
      label="Save policy"
      busyLabel="Saving…"
    >
      <div class={css.kinds}>
        {KINDS.map(([kind, label]) => (
          <Tick
            key={kind}
            name={kind}
            label={label}
            checked={refuse.includes(kind)}
            onChecked={(checked) => {
              setRefuse(checked ? [...refuse, kind] : refuse.filter((other) => other !== kind));
              setSaved(false);
            }}
          />
        ))}
      </div>
      <Field
        label="Domains to always allow"
        name="allow_domains"
        autocomplete="off"
        value={allow}
        onValue={changing(setAllow)}
        hint="Separate several with commas. Subdomains are included."
        mistake={mistakes["allow"]}
        mono
      />
      <Field
        label="Domains to always refuse"
        name="block_domains"
        autocomplete="off"
        value={block}
        onValue={changing(setBlock)}
        hint="Domains to allow come first."
        mistake={mistakes["block"]}
        mono
      />
      {saved && (
        <Notice tone="good">
          <p>Saved.</p>
        </Notice>
      )}
    </Form>
  );
}

function TryIt({ onTried }: { onTried: () => Promise<void> }) {
  const [email, setEmail] = useState("");
  const [decision, setDecision] = useState<Decision>();
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    setDecision(undefined);
    setDecision(await call("post", "/v1/guard/decide", "session", { email }));
    void onTried();
  });
  return (
    <LineForm
      submission={submission}
      check={() => ({ email: email.trim() === "" ? "Enter an address to try." : undefined })}
      onMistakes={(found) => {
        setMistakes(found);
        setDecision(undefined);
      }}
      label="Try"
      busyLabel="Checking…"
      field={(button) => (
        <Field
          label="Email address"
          name="email"
          autocomplete="off"
          inputMode="email"
          value={email}
          onValue={setEmail}
          hint="Uses the saved policy. Counts as a check, unless form, role or a domain of yours decides. Refusals count below, too."
          mistake={mistakes["email"]}
          beside={button}
        />
      )}
    >
      <div role="status">
        {decision !== undefined && (
          <Notice
            tone={decision.decision === "refuse" ? "bad" : "good"}
            title={decision.decision === "refuse" ? "Refused" : "Allowed"}
          >
            <p>{decision.message ?? whyAllowed(decision)}</p>
            {decision.suggestion != null && <p>Did you mean {decision.suggestion}?</p>}
          </Notice>
        )}
      </div>
    </LineForm>
  );
}

interface SupabaseProps {
  hook: NonNullable<Policy["supabase"]>;
  policy: Resource<Policy>;
}

function Supabase({ hook, policy }: SupabaseProps) {
  const [asking, setAsking] = useState(false);
  const url = location.origin + hook.path;
  const replace = useSubmission(async () => {
    policy.set(await call("post", "/v1/guard/secret", "session"));
    setAsking(false);
  });
  return (
    <>
      <p class="quiet">
        In Supabase, open Authentication, then Hooks, and add a “Before User Created” hook of type HTTPS with
        this URL and secret.
      </p>
      <div class={css.url}>
        <Code caption="URL" text={url} />
        <Copy text={url} what="URL" />
      </div>
      <h3>Secret</h3>
      <KeyBox key={hook.secret} apiKey={hook.secret} what="hook secret" />
      {hook.previous_until != null && (
        <p class="quiet">The URL and secret before these work until {moment(hook.previous_until)}.</p>
      )}
      <Actions>
        <Button onClick={() => setAsking(true)}>Replace URL and secret…</Button>
      </Actions>
      {asking && (
        <Dialog title="Replace the URL and the secret?" onClose={() => setAsking(false)}>
          <p>The old ones work for one more day, so you have time to change them in Supabase.</p>
          <Form
            submission={replace}
            label="Replace them"
            busyLabel="Replacing…"
            secondary={<Button onClick={() => setAsking(false)}>Keep them</Button>}
          />
        </Dialog>
      )}
    </>
  );
}

function Refusals({ refusals }: { refusals: Policy["refusals"] }) {
  if (refusals.length === 0) return <p class="quiet">None.</p>;
  return (
    <ul>
      {refusals.map(({ date, reason, count }) => (
        <li key={date + reason}>
          {utcDay(date)}: {counted(count, "sign-up")}, {refusedKind(reason)}
        </li>
      ))}
    </ul>
  );
}
