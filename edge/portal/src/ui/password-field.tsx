// A new password, with the rules shown in advance and a hint about its strength.
import { LONGEST, SHORTEST, strengthOf } from "../words/strength";
import { Field } from "./field";
import css from "./password-field.module.css";

interface NewPasswordProps {
  label: string;
  name: string;
  value: string;
  email: string;
  onValue: (value: string) => void;
  hint?: string;
  mistake?: string | undefined;
}

const RULES = `At least ${SHORTEST} characters. A few unrelated words work well.`;

export function NewPassword(props: NewPasswordProps) {
  const strength = strengthOf(props.value, props.email);
  return (
    <Field
      {...props}
      type="password"
      autocomplete="new-password"
      hint={props.hint ?? RULES}
      live={
        <div class={css.strength} data-level={strength.level}>
          <div class={css.bar} aria-hidden="true">
            <span />
            <span />
            <span />
            <span />
          </div>
          <p class={css.text} role="status">
            {strength.text}
          </p>
        </div>
      }
    />
  );
}

/** Returns an obvious mistake in a new password; the service decides. */
export function passwordMistake(password: string): string | undefined {
  const length = [...password].length;
  if (length === 0) return "Enter a password.";
  if (length < SHORTEST || length > LONGEST)
    return `Use ${SHORTEST} to ${LONGEST} characters. This has ${length}.`;
  return undefined;
}

interface RepeatedPasswordProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
  mistake: string | undefined;
}

/** A field that repeats the new password, to catch typing mistakes. */
export function RepeatedPassword(props: RepeatedPasswordProps) {
  return <Field {...props} name="password_again" type="password" autocomplete="new-password" />;
}

export function repetitionMistake(password: string, again: string): string | undefined {
  if (again === "") return "Enter the password a second time.";
  return again === password ? undefined : "The two passwords differ. Enter the same one twice.";
}
