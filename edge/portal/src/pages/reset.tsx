// Sets a new password with a mailed link. A code is only requested if two-factor is on.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { mailedToken } from "../mailed-token";
import { Actions } from "../ui/actions";
import { LinkButton } from "../ui/button";
import { CODE_PROBLEMS, CodeField, codeMistake, plainCode } from "../ui/code-field";
import { Form, type Mistakes } from "../ui/form";
import { BrokenLink, useMailedLink } from "../ui/mailed-link";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { NewPassword, RepeatedPassword, passwordMistake, repetitionMistake } from "../ui/password-field";
import { SuspectedKeys, useResetPreview } from "../ui/suspected-keys";

export default function Reset() {
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const [code, setCode] = useState("");
  const [coded, setCoded] = useState(false);
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [token] = useState(mailedToken);
  const [kept, setKept] = useState<string[]>([]);
  const preview = useResetPreview(token);
  const { broken, submission } = useMailedLink("password-set", async (token) => {
    try {
      return await call("post", "/v1/auth/reset-password", "anyone", {
        token,
        password,
        keep_keys: kept,
        ...(code !== "" && { totp_code: plainCode(code) }),
      });
    } catch (error) {
      if (!(error instanceof Problem && error.code === "totp_required" && !coded)) throw error;
      setCoded(true);
      return undefined;
    }
  });

  if (broken !== undefined) {
    return (
      <BrokenLink broken={broken} validity="an hour">
        <Actions>
          <LinkButton href="/forgot" kind="primary">
            Get a new link
          </LinkButton>
          <LinkButton href="/sign-in">Sign in</LinkButton>
        </Actions>
      </BrokenLink>
    );
  }
  return (
    <Page
      key="form"
      title="Set a new password"
      layout="narrow"
      lead="This also signs you out on every other device."
    >
      <Form
        submission={submission}
        check={() => ({
          password: passwordMistake(password),
          again: repetitionMistake(password, again),
          code: coded || code !== "" ? codeMistake(code) : undefined,
        })}
        onMistakes={setMistakes}
        shownAtField={["invalid_password", "invalid_token", ...CODE_PROBLEMS]}
        label="Set password and sign in"
        busyLabel="Setting…"
      >
        <NewPassword
          label="New password"
          name="password"
          email=""
          value={password}
          onValue={setPassword}
          mistake={mistakes.password ?? submission.told(["invalid_password"])}
        />
        <RepeatedPassword
          label="New password again"
          value={again}
          onValue={setAgain}
          mistake={mistakes.again}
        />
        {preview !== undefined && <SuspectedKeys preview={preview} kept={kept} onKept={setKept} />}
        {(coded || preview?.code_possible === true) && (
          <>
            <Notice tone="plain">
              <p>
                {coded || preview?.code_needed === true
                  ? "Two-factor authentication is on for this account, so you also need a code."
                  : "Two-factor authentication was turned on in the last days. Without a code it’s off afterwards."}
              </p>
            </Notice>
            <CodeField
              value={code}
              onValue={setCode}
              mistake={mistakes.code}
              submission={submission}
              focused={coded}
            />
          </>
        )}
      </Form>
    </Page>
  );
}
