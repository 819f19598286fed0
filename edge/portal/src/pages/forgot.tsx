// Asks for a link to set a new password. The next message is the same whether or not the account
// exists.
import { call } from "../api/client";
import { MailFlow } from "../ui/mail-flow";
import { addressMistake } from "../words/addresses";
import { useTypedEmail } from "../words/typed-email";

export default function Forgot() {
  const [email, setEmail] = useTypedEmail();
  return (
    <MailFlow
      title="Forgot your password?"
      lead="Enter your email and we’ll send you a reset link."
      email={email}
      onEmail={setEmail}
      send={(address, person) =>
        call("post", "/v1/auth/forgot-password", "anyone", { email: address, ...person })
      }
      check={() => ({ email: addressMistake(email) })}
      label="Send reset link"
      busyLabel="Sending…"
      sent={(address) => <>If {address} has an account, a reset link is on its way. Open it to continue.</>}
      validity="one hour"
      limit="We send one of these emails an hour to an address. Until then, the last link keeps working."
      resends={false}
      aside={
        <>
          Remembered it? <a href="/sign-in">Sign in</a>
        </>
      }
    />
  );
}
