// The second factor: a code of an authenticator app, or a recovery code if the app is lost.
import { useState } from "preact/hooks";
import { contactUrl } from "../site";
import { Button } from "./button";
import css from "./code-field.module.css";
import { Field } from "./field";
import type { Submission } from "./form";

/** Problems that the code field shows itself. */
export const CODE_PROBLEMS: readonly string[] = ["totp_required", "totp_invalid"];

const DIGITS = 6;
/** Length of a recovery code without hyphens. */
const RECOVERY_LENGTH = 24;

/** Returns a code in the form to send: apps show six digits with a space in the middle. */
export function plainCode(code: string): string {
  const plain = code.replace(/[\s\u00a0-]/g, "");
  return /^\d*$/.test(plain) ? plain : code.trim();
}

/** Returns the mistake in a code that would certainly be rejected, so that no attempt is used up. */
export function codeMistake(code: string): string | undefined {
  const plain = code.replace(/[\s\u00a0-]/g, "");
  if (plain === "") return "Enter the code.";
  if (/^\d{6}$/.test(plain) || /^[a-z0-9]{24}$/i.test(plain)) return undefined;
  return `Enter the ${DIGITS} digits from your app, or a recovery code of ${RECOVERY_LENGTH} letters and digits.`;
}

/** Returns the mistake in a six-digit code; recovery codes aren't accepted. */
export function digitsMistake(code: string): string | undefined {
  const plain = plainCode(code);
  if (plain === "") return "Enter the code.";
  return /^\d{6}$/.test(plain) ? undefined : `Enter the ${DIGITS} digits from your app.`;
}

interface CodeFieldProps {
  value: string;
  onValue: (value: string) => void;
  mistake: string | undefined;
  submission: Submission;
  focused?: boolean;
}

export function CodeField({ value, onValue, mistake, submission, focused = false }: CodeFieldProps) {
  const [lost, setLost] = useState(false);
  const shown = mistake ?? submission.told(CODE_PROBLEMS);
  const contact = contactUrl();
  return (
    <div class={css.codeField}>
      {lost ? (
        <Field
          label="Recovery code"
          name="totp_code"
          autocomplete="off"
          hint="One of the ten codes you saved, six groups like abcd-efgh. Each works once."
          value={value}
          onValue={onValue}
          mistake={shown}
          mono
          focused
        />
      ) : (
        <DigitsField value={value} onValue={onValue} mistake={shown} focused={focused} />
      )}
      <Button
        kind="link"
        onClick={() => {
          setLost(!lost);
          onValue("");
        }}
      >
        {lost ? "Use the authenticator app" : "Use a recovery code instead"}
      </Button>
      {lost && contact !== undefined && (
        <p class="quiet">
          No phone and no codes? <a href={contact}>Contact us</a>.
        </p>
      )}
    </div>
  );
}

type DigitsFieldProps = Pick<CodeFieldProps, "value" | "onValue" | "mistake" | "focused"> & {
  hint?: string;
};

export function DigitsField({
  value,
  onValue,
  mistake,
  focused = false,
  hint = "The six digits that your authenticator app shows now.",
}: DigitsFieldProps) {
  return (
    <Field
      label="Code"
      name="totp_code"
      autocomplete="one-time-code"
      inputMode="numeric"
      hint={hint}
      value={value}
      onValue={onValue}
      mistake={mistake}
      mono
      focused={focused}
    />
  );
}
