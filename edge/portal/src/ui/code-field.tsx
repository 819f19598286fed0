import { useState } from "preact/hooks";
import { Field } from "./field";

interface CodeFieldProps {
  value: string;
  onValue: (value: string) => void;
  mistake?: string | undefined;
  focused?: boolean;
  /** Whether a recovery code does as well. */
  recovery?: boolean;
}

/** A code of an authenticator app or, for who has lost it, a recovery code. */
export function CodeField({ value, onValue, mistake, focused, recovery = true }: CodeFieldProps) {
  const [lost, setLost] = useState(false);
  const shared = { name: "totp_code", value, onValue, mistake, mono: true };
  return (
    <div class="code-field">
      {lost ? (
        <Field
          {...shared}
          label="Recovery code"
          autocomplete="off"
          hint="One of the ten codes you saved, like abcd-efgh-ijkl-mnop. Each works once."
          focused
        />
      ) : (
        <Field
          {...shared}
          label="Code"
          autocomplete="one-time-code"
          inputMode="numeric"
          hint="The six digits that your authenticator app shows now."
          {...(focused === true && { focused })}
        />
      )}
      {recovery && (
        <button
          type="button"
          class="button link"
          onClick={() => {
            setLost(!lost);
            onValue("");
          }}
        >
          {lost ? "Use the authenticator app" : "Use a recovery code instead"}
        </button>
      )}
    </div>
  );
}

export function codeMistake(code: string): string | undefined {
  return code.trim() === "" ? "Enter the code." : undefined;
}
