// Actions and attempts on the account, so that its owner can recognise them.
import { clsx } from "clsx";
import { useState } from "preact/hooks";
import { type Schemas, call } from "../../api/client";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { Loaded, useResource } from "../../ui/resource";
import { placeOf } from "../../words/countries";
import { eventTitle, isFailure } from "../../words/security-events";
import { moment } from "../../words/times";
import css from "./security-events.module.css";

type Event = Schemas["SecurityEvent"];

/** Number of events shown initially. */
const FEW = 8;

export function SecurityEvents() {
  const events = useResource(() => call("get", "/v1/me/events", "session"));
  return (
    <Card id="activity" title="Security events" split>
      <Loaded resource={events} skeleton={["line", "line"]} what="your security events">
        {({ events: listed }) => <List events={listed} />}
      </Loaded>
      <p class="quiet">
        The last 90 days. If something here wasn’t you, change your password: that also signs out every
        session.
      </p>
    </Card>
  );
}

function List({ events }: { events: Event[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? events : events.slice(0, FEW);
  return (
    <>
      <ul class={css.list}>
        {shown.map((event) => (
          <Item event={event} />
        ))}
      </ul>
      {shown.length < events.length && (
        <Actions>
          <Button onClick={() => setAll(true)}>Show all {events.length} events</Button>
        </Actions>
      )}
    </>
  );
}

function Item({ event }: { event: Event }) {
  const { kind, at, count, browser, country } = event;
  const where = placeOf(browser, country);
  return (
    <li class={css.item}>
      <strong class={clsx(isFailure(kind) && css.failure)}>{eventTitle(kind, count)}</strong>
      <span class="quiet">
        <time dateTime={at}>{moment(at)}</time>
        {where !== "" && `, ${where}`}
      </span>
    </li>
  );
}
