// The link of an email about a change: stops changes of the account, and leads to a reset, which takes them back.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../ui/code-field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { BrokenLink } from "../ui/mailed-link";
import { Lead, Page } from "../ui/page";

export default function Stop() {
  const [token] = useState(mailedToken);
  const [code, setCode] = useState("");
  const [coded, setCoded] = useState(false);
  const [stopped, setStopped] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    if (token === undefined) return;
    try {
      const body = { token, ...(coded && { totp_code: plainCode(code) }) };
      await call("post", "/v1/auth/stop-changes", "anyone", body);
      forgetMailedToken();
      setStopped(true);
    } catch (error) {
      if (!(error instanceof Problem && error.code === "totp_required" && !coded)) throw error;
      setCoded(true);
    }
  });
  const next = (
    <Actions>
      <LinkButton href="/forgot" kind="primary">
        Reset the password
      </LinkButton>
    </Actions>
  );
  if (stopped) {
    return (
      <Page key="stopped" title="Stopped" layout="narrow">
        <Lead>
          Every session has ended, and nothing changes for three days. Now reset your password: that takes
          back what was changed.
        </Lead>
        {next}
      </Page>
    );
  }
  if (token === undefined || submission.problem?.code === "invalid_token") {
    return (
      <BrokenLink broken={token === undefined ? "incomplete" : "useless"} validity="three days">
        {next}
      </BrokenLink>
    );
  }
  return (
    <Page
      key="form"
      title="Wasn’t that you?"
      layout="narrow"
      lead="This signs out every session and stops a change of the address. If it was you, there’s nothing to do here."
    >
      <Form
        submission={submission}
        check={() => ({ code: coded ? codeMistake(code) : undefined })}
        onMistakes={setMistakes}
        shownAtField={CODE_PROBLEMS}
        label="Stop the changes"
        busyLabel="Stopping…"
      >
        {coded && (
          <CodeField value={code} onValue={setCode} mistake={mistakes.code} submission={submission} focused />
        )}
      </Form>
    </Page>
  );
}
