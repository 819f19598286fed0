// The keys beside the account's own: the list, and buttons to create, confirm, end or replace them.
import { useRef, useState } from "preact/hooks";
import { type Schemas, call } from "../../api/client";
import * as session from "../../session";
import { Actions } from "../../ui/actions";
import { Button } from "../../ui/button";
import { Card } from "../../ui/card";
import { KeyBox } from "../../ui/key-box";
import { LeaveDialog, useLeaving } from "../../ui/leaving";
import { Notice } from "../../ui/notice";
import { Loaded, useResource } from "../../ui/resource";
import { counted, moment, utcDay } from "../../words/times";
import { KeyProofDialog } from "./key-proof-dialog";
import { ListedCredential } from "./listed-credential";
import { MakeDialog } from "./make-dialog";
import css from "./named-keys.module.css";

type Details = Schemas["KeyDetails"];
type NewKey = Schemas["NewKeyText"];

export function NamedKeys({ twoFactor }: { twoFactor: boolean }) {
  const email = session.useSession()?.email ?? "";
  const [asking, setAsking] = useState<"make" | "replace">();
  // New keys are shown once, so they stay until the owner confirms having copied them.
  const [fresh, setFresh] = useState<NewKey[]>([]);
  const leaving = useLeaving(fresh.length > 0);
  const one = fresh.length === 1;
  const list = useRef<HTMLUListElement>(null);
  const onCopied = () => {
    setFresh([]);
    // The button that had the focus has disappeared.
    list.current?.focus();
  };
  const keys = useResource(() => call("get", "/v1/keys", "session"));
  const close = () => setAsking(undefined);
  return (
    <Card id="named" title="Named keys" split>
      <p>
        One for each program, with the rights it needs. Rights and limits of a key stay: to change them, make
        another.
      </p>
      {fresh.map(({ api_key, key }) => (
        <Notice key={key.id} tone="good" title={`Copy “${key.name}” now: it isn’t shown again.`}>
          <KeyBox apiKey={api_key} what={`key ${key.name}`} />
        </Notice>
      ))}
      {fresh.length > 0 && (
        <Actions>
          <Button onClick={onCopied}>{one ? "I’ve copied it" : "I’ve copied them"}</Button>
        </Actions>
      )}
      <LeaveDialog
        leaving={leaving}
        title={one ? "Leave without the new key?" : "Leave without the new keys?"}
        text={one ? "It isn’t shown again." : "They aren’t shown again."}
        label={one ? "Leave without it" : "Leave without them"}
      />
      <Loaded resource={keys} skeleton={["line", "line"]} what="your named keys">
        {({ keys: listed }) => (
          <>
            {listed.every(isOwn) && <p class="quiet">There are none yet.</p>}
            <ul class={css.list} ref={list} tabIndex={-1} aria-labelledby="named">
              {listed
                .filter((one) => !isOwn(one))
                .map((one) => (
                  <Item
                    key={one.id}
                    listed={one}
                    twoFactor={twoFactor}
                    email={email}
                    onEnded={() => setFresh((shown) => shown.filter(({ key }) => key.id !== one.id))}
                    onReplaced={(replaced) =>
                      setFresh((shown) => [...shown.filter(({ key }) => key.id !== one.id), replaced])
                    }
                    onChanged={keys.reload}
                  />
                ))}
            </ul>
          </>
        )}
      </Loaded>
      <Actions>
        <Button kind="primary" onClick={() => setAsking("make")}>
          Make a key…
        </Button>
        <Button onClick={() => setAsking("replace")}>Replace all keys…</Button>
      </Actions>
      {asking === "make" && (
        <MakeDialog
          twoFactor={twoFactor}
          email={email}
          onClose={close}
          onMade={(made) => {
            close();
            setFresh((shown) => [...shown, made]);
            void keys.reload();
          }}
        />
      )}
      {asking === "replace" && (
        <KeyProofDialog
          title="Replace all keys?"
          text="Your API key and every named key stop working immediately. You get a new one for each, with the same rights and limits."
          label="Replace all keys"
          busyLabel="Replacing…"
          danger
          twoFactor={twoFactor}
          email={email}
          onClose={close}
          act={async (proof) => {
            const replaced = await call("post", "/v1/keys/replace-all", "session", proof);
            session.replaceKey(replaced.api_key);
            setFresh(replaced.keys);
            close();
            await keys.reload();
          }}
        />
      )}
    </Card>
  );
}

interface ItemProps {
  listed: Details;
  twoFactor: boolean;
  email: string;
  onEnded: () => void;
  onReplaced: (replaced: NewKey) => void;
  onChanged: () => Promise<void>;
}

const isOwn = ({ id }: Details): boolean => id === "own";

function Item({ listed, twoFactor, email, onEnded, onReplaced, onChanged }: ItemProps) {
  const { id, name } = listed;
  return (
    <ListedCredential
      noun="key"
      name={name}
      ending={{
        verb: "End",
        busyLabel: "Ending…",
        text: "Programs that use it fail with their next request. It can’t be brought back.",
        act: async () => {
          await call("delete", "/v1/keys/{id}", "session", undefined, { id });
          onEnded();
          await onChanged();
        },
      }}
      replacing={{
        text: "You get a new key with the same rights and limits. The old one works for another day, so that you can change your programs.",
        twoFactor,
        email,
        act: async (proof) => {
          onReplaced(await call("post", "/v1/keys/{id}/replace", "session", proof, { id }));
          await onChanged();
        },
      }}
    >
      <span class="quiet">{termsOf(listed)}</span>
      <span class="quiet">{useOf(listed)}</span>
    </ListedCredential>
  );
}

/** Returns the key's rights and limits in one line. */
function termsOf({ rights, daily_limit, expires_at, previous_until }: Details): string {
  return [
    rights.includes("sandbox") ? "Test key, sandbox addresses only" : rights.join(", "),
    daily_limit != null && `at most ${counted(daily_limit, "check")} a day`,
    expires_at != null && `until ${moment(expires_at)}`,
    previous_until != null && `the old one works until ${moment(previous_until)}`,
  ]
    .filter((part) => part !== false)
    .join("; ");
}

/** Returns the key's creation and last use in one line. */
function useOf({ rights, used_today, last_used_on, created_at }: Details): string {
  const made = `Made ${moment(created_at)}`;
  if (rights.includes("sandbox")) return made;
  if (used_today != null) return `${made}; ${counted(used_today, "check")} today`;
  return `${made}; ${last_used_on == null ? "not used yet" : `last used on ${utcDay(last_used_on)}`}`;
}
