// The name of the account's owner.
import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { Card } from "../../ui/card";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";

/** Greatest length in characters, as the service counts them. */
const LONGEST = 100;
const AT_FIELD = ["invalid_display_name"];

export function DisplayName({ name, onChanged }: { name: string; onChanged: (name: string) => void }) {
  const [value, setValue] = useState(name);
  const [saved, setSaved] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const profile = await call("put", "/v1/auth/settings", "session", { display_name: value.trim() });
    setSaved(true);
    onChanged(profile.display_name);
  });
  return (
    <Card id="name" title="Display name" split>
      <Form
        submission={submission}
        check={() => ({ name: nameMistake(value.trim()) })}
        onMistakes={(found) => {
          setMistakes(found);
          setSaved(false);
        }}
        shownAtField={AT_FIELD}
        label="Save name"
        busyLabel="Saving…"
      >
        <Field
          label="Name"
          name="display_name"
          autocomplete="name"
          value={value}
          onValue={(typed) => {
            setValue(typed);
            setSaved(false);
          }}
          hint={`What should we call you? Up to ${LONGEST} characters.`}
          mistake={mistakes.name ?? submission.told(AT_FIELD)}
        />
        {saved && (
          <Notice tone="good">
            <p>Saved.</p>
          </Notice>
        )}
      </Form>
    </Card>
  );
}

function nameMistake(name: string): string | undefined {
  if (name === "") return "Enter a name.";
  return [...name].length > LONGEST ? `Use at most ${LONGEST} characters.` : undefined;
}
