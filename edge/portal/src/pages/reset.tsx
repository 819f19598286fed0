import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { forgetMailedToken, mailedToken } from "../mailed-token";
import { go } from "../navigation";
import * as session from "../session";
import { CodeField, codeMistake } from "../ui/code-field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { NewPassword, passwordMistake } from "../ui/password-field";
import { tell } from "../words/problems";

const AT_FIELD = ["invalid_password", "totp_invalid", "totp_required", "invalid_token"];

export default function Reset() {
  const [token] = useState(mailedToken);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [coded, setCoded] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const submission = useSubmission(async () => {
    try {
      const totp_code = coded ? { totp_code: code.trim() } : {};
      const credentials = await call("post", "/v1/auth/reset-password", "anyone", {
        token: token!,
        password,
        ...totp_code,
      });
      forgetMailedToken();
      session.start(credentials);
      go("/overview", { replace: true, state: "password-set" });
    } catch (error) {
      if (error instanceof Problem && error.code === "totp_required" && !coded) return setCoded(true);
      throw error;
    }
  });
  const { problem } = submission;
  const useless = problem?.code === "invalid_token";

  if (token === undefined || useless) {
    return (
      <Page
        key="useless"
        title={useless ? "This link does not work" : "This link is incomplete"}
        layout="narrow"
      >
        {useless ? (
          <Notice tone="bad">
            <p>The link was used already, was replaced by a newer one, or is older than an hour.</p>
          </Notice>
        ) : (
          <p class="lead">Open it again from the mail, or copy all of it into the address bar.</p>
        )}
        <p class="actions">
          <a class="button primary" href="/forgot">
            Get a new link
          </a>
          <a class="button plain" href="/sign-in">
            Sign in
          </a>
        </p>
      </Page>
    );
  }
  const refused =
    problem?.cause.kind === "refused" && problem.code === "invalid_password"
      ? problem.cause.detail
      : undefined;
  return (
    <Page
      key="form"
      title="Set a new password"
      layout="narrow"
      lead="This also ends every session of your account, on all devices."
    >
      <Form
        submission={submission}
        check={() => ({ password: passwordMistake(password), code: coded ? codeMistake(code) : undefined })}
        onMistakes={setMistakes}
        shownAtField={AT_FIELD}
        label="Set password and sign in"
        busyLabel="Setting…"
      >
        <NewPassword
          label="New password"
          name="password"
          email=""
          value={password}
          onValue={setPassword}
          mistake={mistakes.password ?? refused}
        />
        {coded && (
          <>
            <Notice tone="plain">
              <p>Two-factor authentication is on for this account, so a code is needed too.</p>
            </Notice>
            <CodeField
              value={code}
              onValue={setCode}
              focused
              mistake={mistakes.code ?? (problem?.code?.startsWith("totp") ? tell(problem) : undefined)}
            />
          </>
        )}
      </Form>
    </Page>
  );
}
