import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as session from "../../session";
import { Field } from "../../ui/field";
import { Form, type Mistakes, useSubmission } from "../../ui/form";
import { Notice } from "../../ui/notice";
import { NewPassword, passwordMistake } from "../../ui/password-field";
import { tell } from "../../words/problems";

export function ChangePassword({ email }: { email: string }) {
  const [current, setCurrent] = useState("");
  const [fresh, setFresh] = useState("");
  const [changed, setChanged] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    const body = { current_password: current, new_password: fresh };
    session.start(await call("put", "/v1/auth/password", "session", body));
    setCurrent("");
    setFresh("");
    setChanged(true);
  });
  const { problem } = submission;
  const wrong = problem?.code === "wrong_password" ? tell(problem) : undefined;
  const refused = problem?.code === "invalid_password" ? tell(problem) : undefined;
  return (
    <section class="card" aria-labelledby="password">
      <h2 id="password">Password</h2>
      <Form
        submission={submission}
        check={() => ({
          current: current === "" ? "Enter your current password." : undefined,
          fresh: passwordMistake(fresh),
        })}
        onMistakes={(found) => {
          setMistakes(found);
          setChanged(false);
        }}
        shownAtField={["wrong_password", "invalid_password"]}
        label="Change password"
        busyLabel="Changing…"
      >
        <input type="email" name="email" autocomplete="username" value={email} readOnly hidden />
        <Field
          label="Current password"
          name="current_password"
          type="password"
          autocomplete="current-password"
          value={current}
          onValue={setCurrent}
          mistake={mistakes.current ?? wrong}
        />
        <NewPassword
          label="New password"
          name="new_password"
          email={email}
          value={fresh}
          onValue={setFresh}
          mistake={mistakes.fresh ?? refused}
        />
        {changed && (
          <Notice tone="good">
            <p>Your password is changed. Every other session of your account was ended.</p>
          </Notice>
        )}
      </Form>
    </section>
  );
}
