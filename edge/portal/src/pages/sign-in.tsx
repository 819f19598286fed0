import { useState } from "preact/hooks";
import { call } from "../api/client";
import { Problem } from "../api/problem";
import { go, nextPage } from "../navigation";
import * as session from "../session";
import { CodeField, codeMistake } from "../ui/code-field";
import { Field } from "../ui/field";
import { Form, type Mistakes, useSubmission } from "../ui/form";
import { Inbox } from "../ui/inbox";
import { Notice } from "../ui/notice";
import { Page } from "../ui/page";
import { emailMistake } from "../ui/password-field";
import { tell } from "../words/problems";

const FAREWELLS: Record<session.Ending, { tone: "plain" | "unknown"; text: string }> = {
  expired: { tone: "unknown", text: "Your session is over. Sign in again, and you are back where you were." },
  "signed-out": { tone: "plain", text: "You are signed out." },
  everywhere: { tone: "plain", text: "Every session of your account is ended, this one too." },
  deleted: { tone: "plain", text: "Your account is deleted, with everything that belonged to it." },
};

type Step = "password" | "code" | "unconfirmed" | "mailed";

export default function SignIn() {
  const [step, setStep] = useState<Step>("password");
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const [ending] = useState(session.lastEnding);

  const signIn = useSubmission(async () => {
    try {
      const totp_code = step === "code" ? { totp_code: code.trim() } : {};
      const credentials = await call("post", "/v1/auth/login", "anyone", {
        email: email.trim(),
        password,
        ...totp_code,
      });
      const next = nextPage();
      session.start(credentials);
      go(next, { replace: true });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.code === "unconfirmed") return setStep("unconfirmed");
      if (error.code === "totp_required" && step === "password") return setStep("code");
      throw error;
    }
  });
  // Registering again with the password that was just right sends a new link and changes nothing else.
  const resend = useSubmission(async () => {
    await call("post", "/v1/auth/register", "anyone", { email: email.trim(), password });
    setStep("mailed");
  });
  const { problem } = signIn;

  switch (step) {
    case "mailed":
      return (
        <Page key={step} title="Check your inbox" layout="narrow">
          <Inbox
            email={email.trim()}
            what="a new link to confirm your address"
            validity="24 hours"
            submission={resend}
          />
        </Page>
      );
    case "unconfirmed":
      return (
        <Page
          key={step}
          title="Confirm your address first"
          layout="narrow"
          lead="Your password is right, but your email address is not confirmed yet. Open the link in the mail we sent you, or get a new one."
        >
          <Form submission={resend} label="Mail me a new link" busyLabel="Sending…">
            {null}
          </Form>
        </Page>
      );
    case "code":
      return (
        <Page
          key={step}
          title="Two-factor code"
          layout="narrow"
          lead="Your password is right. One more step."
        >
          <Form
            submission={signIn}
            check={() => ({ code: codeMistake(code) })}
            onMistakes={setMistakes}
            shownAtField={["totp_invalid", "totp_required"]}
            label="Sign in"
            busyLabel="Signing in…"
            secondary={
              <button
                type="button"
                class="button link"
                onClick={() => {
                  setStep("password");
                  setCode("");
                  signIn.clear();
                }}
              >
                Back
              </button>
            }
          >
            <CodeField
              value={code}
              onValue={setCode}
              focused
              mistake={mistakes.code ?? (problem?.code?.startsWith("totp") ? tell(problem) : undefined)}
            />
          </Form>
        </Page>
      );
    case "password":
      return (
        <Page key={step} title="Sign in" layout="narrow">
          {ending !== undefined && (
            <Notice tone={FAREWELLS[ending].tone}>
              <p>{FAREWELLS[ending].text}</p>
            </Notice>
          )}
          <Form
            submission={signIn}
            check={() => ({
              email: emailMistake(email),
              password: password === "" ? "Enter your password." : undefined,
            })}
            onMistakes={setMistakes}
            label="Sign in"
            busyLabel="Signing in…"
          >
            <Field
              label="Email address"
              name="email"
              type="email"
              autocomplete="username"
              value={email}
              onValue={setEmail}
              mistake={mistakes.email}
            />
            <Field
              label="Password"
              name="password"
              type="password"
              autocomplete="current-password"
              value={password}
              onValue={setPassword}
              mistake={mistakes.password}
            />
          </Form>
          <p class="aside">
            <a href="/forgot">Forgot your password?</a>
          </p>
          <p class="aside">
            No account yet? <a href="/register">Register</a>
          </p>
        </Page>
      );
  }
}
