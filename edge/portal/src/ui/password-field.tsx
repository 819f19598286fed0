import { LONGEST, SHORTEST, strengthOf } from "../words/strength";
import { Field } from "./field";

interface NewPasswordProps {
  label: string;
  name: string;
  value: string;
  email: string;
  onValue: (value: string) => void;
  mistake?: string | undefined;
  focused?: boolean;
}

/** A new password, with the rules told before they are broken and a hint at its strength. */
export function NewPassword(props: NewPasswordProps) {
  const strength = strengthOf(props.value, props.email);
  return (
    <Field
      {...props}
      type="password"
      autocomplete="new-password"
      hint={`${SHORTEST} to ${LONGEST} characters, any characters. Not your email address and not a common password: a few unrelated words work well.`}
      live={
        <div class="strength" data-level={strength.level}>
          <div class="strength-bar" aria-hidden="true">
            <span />
            <span />
            <span />
            <span />
          </div>
          <p class="strength-text" role="status">
            {strength.text}
          </p>
        </div>
      }
    />
  );
}

/** What is certainly wrong with a new password; the service has the last word. */
export function passwordMistake(password: string): string | undefined {
  const length = [...password].length;
  if (length === 0) return "Enter a password.";
  if (length < SHORTEST || length > LONGEST)
    return `The password must have ${SHORTEST} to ${LONGEST} characters; this has ${length}.`;
  return undefined;
}

export function emailMistake(email: string): string | undefined {
  if (email.trim() === "") return "Enter your email address.";
  if (!/^\S.*@.*\S$/.test(email.trim())) return "This is not an email address. It has the form name@domain.";
  return undefined;
}
