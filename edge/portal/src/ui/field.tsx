// An input with its label, hint and mistake, connected for screen readers.
import { clsx } from "clsx";
import type { ComponentChildren, HTMLAttributes } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import css from "./field.module.css";

interface FieldProps {
  label: string;
  name: string;
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "email" | "password";
  autocomplete: string;
  inputMode?: HTMLAttributes<HTMLInputElement>["inputMode"];
  placeholder?: string;
  hint?: ComponentChildren;
  /** Text below the input; screen readers announce its changes. */
  live?: ComponentChildren;
  mistake?: string | undefined;
  focused?: boolean;
  mono?: boolean;
  /** Content next to the input, such as the button of a form with one field. */
  beside?: ComponentChildren;
}

export function Field(props: FieldProps) {
  const { label, name, value, onValue, type = "text", autocomplete, inputMode } = props;
  const { placeholder, hint, live, mistake, focused, mono, beside } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (focused === true) input.current?.focus();
  }, []);
  const secret = type === "password";
  const described = [hint !== undefined && `${id}-hint`, mistake !== undefined && `${id}-mistake`]
    .filter(Boolean)
    .join(" ");
  return (
    <div class={css.field}>
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <div class={css.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      <div class={css.row}>
        <div class={css.control}>
          <input
            ref={input}
            id={id}
            class={clsx(css.input, mono === true && css.mono, secret && css.secret)}
            name={name}
            // Preact's types require a literal type.
            type={(secret && shown ? "text" : type) as "text"}
            value={value}
            autocomplete={autocomplete}
            inputMode={inputMode}
            placeholder={placeholder}
            required
            autocapitalize="none"
            spellcheck={false}
            aria-invalid={mistake !== undefined ? "true" : undefined}
            aria-describedby={described === "" ? undefined : described}
            onInput={(event) => onValue(event.currentTarget.value)}
          />
          {secret && (
            <button
              type="button"
              class={css.reveal}
              aria-label={`${shown ? "Hide" : "Show"} ${label.toLowerCase()}`}
              onClick={() => setShown(!shown)}
            >
              {shown ? "Hide" : "Show"}
            </button>
          )}
        </div>
        {beside}
      </div>
      {live}
      {mistake !== undefined && (
        <p class={css.mistake} id={`${id}-mistake`}>
          {mistake}
        </p>
      )}
    </div>
  );
}

interface TickProps {
  name: string;
  label: string;
  hint?: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  /** True if the form requires the field. */
  required?: boolean;
  mistake?: string | undefined;
}

export function Tick({ name, label, hint, checked, onChecked, required = false, mistake }: TickProps) {
  const id = useId();
  return (
    <div class={css.field}>
      <label class={css.tick}>
        <input
          type="checkbox"
          name={name}
          checked={checked}
          required={required}
          aria-invalid={mistake !== undefined ? "true" : undefined}
          aria-describedby={
            mistake !== undefined ? `${id}-mistake` : hint !== undefined ? `${id}-hint` : undefined
          }
          onChange={(event) => onChecked(event.currentTarget.checked)}
        />
        {label}
      </label>
      {hint !== undefined && (
        <div class={css.tickHint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {mistake !== undefined && (
        <p class={css.mistake} id={`${id}-mistake`}>
          {mistake}
        </p>
      )}
    </div>
  );
}

/** Names the account of the form's password for password managers. */
export function Username({ email }: { email: string }) {
  return <input type="email" name="email" autocomplete="username" value={email} readOnly hidden />;
}
