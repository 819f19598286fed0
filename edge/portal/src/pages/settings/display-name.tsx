import { useState } from "preact/hooks";
import { call } from "../../api/client";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { tell } from "../../words/problems";

const LONGEST = 100;

export function DisplayName({ name, onChanged }: { name: string; onChanged: (name: string) => void }) {
  const [value, setValue] = useState(name);
  const [saved, setSaved] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const profile = await call("put", "/v1/auth/settings", "session", { display_name: value.trim() });
    setSaved(true);
    onChanged(profile.display_name);
  });
  const refused = submission.problem?.code === "invalid_display_name" ? tell(submission.problem) : undefined;
  return (
    <section class="card" aria-labelledby="name">
      <h2 id="name">Display name</h2>
      <Form
        submission={submission}
        check={() => ({
          name:
            value.trim() === ""
              ? "Enter a name."
              : [...value.trim()].length > LONGEST
                ? `The name must have at most ${LONGEST} characters.`
                : undefined,
        })}
        onMistakes={(found) => {
          setMistakes(found);
          setSaved(false);
        }}
        shownAtField={["invalid_display_name"]}
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
          hint={`How you want to be called, up to ${LONGEST} characters.`}
          mistake={mistakes.name ?? refused}
        />
        {saved && (
          <Notice tone="good">
            <p>Saved.</p>
          </Notice>
        )}
      </Form>
    </section>
  );
}
