// The account's sessions, and buttons to end one or all.
import { useState } from "preact/hooks";
import { type Schemas, call, endSession } from "../../api/client";
import * as session from "../../session";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Dialog } from "../../ui/dialog";
import { Form, useSubmission } from "../../ui/form";
import { ProblemNotice } from "../../ui/notice";
import { Loaded, useResource } from "../../ui/resource";
import { placeOf } from "../../words/countries";
import { moment } from "../../words/times";
import css from "./sessions.module.css";

type Listed = Schemas["SignedIn"];

export function Sessions() {
  const [asking, setAsking] = useState(false);
  const sessions = useResource(() => call("get", "/v1/auth/sessions", "session"));
  const submission = useSubmission(async () => {
    await call("post", "/v1/auth/sign-out-everywhere", "session");
    session.end("everywhere");
  });
  return (
    <Card id="sessions" title="Sessions" split>
      <Loaded resource={sessions} skeleton={["line", "line"]} what="your sessions">
        {({ sessions: listed }) => (
          <ul class={css.list}>
            {listed.map((one) => (
              <Item key={one.id} listed={one} onEnded={sessions.reload} />
            ))}
          </ul>
        )}
      </Loaded>
      <p class="quiet">
        Don’t recognize one? Sign it out, then change your password. A session ends by itself after twelve
        hours.
      </p>
      <Actions>
        <Button onClick={() => setAsking(true)}>Sign out everywhere…</Button>
      </Actions>
      {asking && (
        <Dialog title="Sign out everywhere?" onClose={() => setAsking(false)}>
          <p>
            You’ll have to sign in again here, too. Keys and passkeys keep working. Did somebody else change
            something? Only a <a href="/forgot">reset of the password</a> takes that back.
          </p>
          <Form
            submission={submission}
            label="Sign out everywhere"
            busyLabel="Signing out…"
            secondary={<Button onClick={() => setAsking(false)}>Stay signed in</Button>}
          />
        </Dialog>
      )}
    </Card>
  );
}

function Item({ listed, onEnded }: { listed: Listed; onEnded: () => Promise<void> }) {
  const { id, browser, country, created_at, current } = listed;
  const submission = useSubmission(async () => {
    const token = session.current()?.token;
    if (current) {
      session.end("signed-out");
      if (token !== undefined) endSession(token);
      return;
    }
    await call("delete", "/v1/auth/sessions/{id}", "session", undefined, { id });
    await onEnded();
  });
  const where = placeOf(browser, country);
  return (
    <li class={css.item}>
      <span class={css.what}>
        <span>
          <strong>{where}</strong>
          {current && <span class={css.here}>This browser</span>}
        </span>
        <span class="quiet">
          Signed in <time dateTime={created_at}>{moment(created_at)}</time>
        </span>
      </span>
      <Button
        small
        busy={submission.busy}
        busyLabel="Signing out…"
        label={`Sign out ${current ? "this browser" : where}`}
        onClick={() => void submission.run()}
      >
        Sign out
      </Button>
      {submission.problem !== undefined && <ProblemNotice problem={submission.problem} />}
    </li>
  );
}
