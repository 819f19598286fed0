// Registration: address and password, then the email that confirms the address.
import { useState } from "preact/hooks";
import { call } from "../api/client";
import { FREE } from "../plans";
import { MailFlow } from "../ui/mail-flow";
import { NewPassword, passwordMistake } from "../ui/password-field";
import { accountMistake } from "../words/addresses";
import { suggestionFor } from "../words/suggestion";
import { useTypedEmail } from "../words/typed-email";

export default function Register() {
  const [email, setEmail] = useTypedEmail();
  const [password, setPassword] = useState("");
  return (
    <MailFlow
      title="Create your account"
      lead={`${FREE.checksPerDay} free checks every day, plus ${FREE.welcomeChecks} on us to get started.`}
      email={email}
      onEmail={setEmail}
      emailHint="We’ll email you a link to confirm it."
      suggestion={suggestionFor(email)}
      send={(address, person) =>
        call("post", "/v1/auth/register", "anyone", { email: address, password, ...person })
      }
      check={() => ({ email: accountMistake(email), password: passwordMistake(password) })}
      shownAtField={["invalid_password"]}
      label="Create account"
      busyLabel="Creating…"
      sent={(address) => <>We’ve emailed {address} a link to confirm your address. Open it to continue.</>}
      validity="24 hours"
      limit="We send at most two of these emails an hour to an address."
      resends={password !== ""}
      aside={
        <>
          Already have an account? <a href="/sign-in">Sign in</a>
        </>
      }
    >
      {(mistakes, submission) => (
        <NewPassword
          label="Password"
          name="password"
          value={password}
          email={email}
          onValue={setPassword}
          mistake={mistakes.password ?? submission.told(["invalid_password"])}
        />
      )}
    </MailFlow>
  );
}
