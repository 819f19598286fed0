import type { ComponentChildren, HTMLAttributes } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";

interface FieldProps {
  label: string;
  name: string;
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "email" | "password";
  autocomplete: string;
  inputMode?: HTMLAttributes<HTMLInputElement>["inputMode"];
  hint?: ComponentChildren;
  /** Said as it changes, below the input. */
  live?: ComponentChildren;
  mistake?: string | undefined;
  maxLength?: number;
  focused?: boolean;
  mono?: boolean;
}

/** One input with its label, hint and mistake, tied together for those who do not see them together. */
export function Field(props: FieldProps) {
  const {
    label,
    name,
    value,
    onValue,
    type = "text",
    autocomplete,
    inputMode,
    hint,
    live,
    mistake,
    focused,
    mono,
  } = props;
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
    <div class="field">
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      <div class="input-row">
        <input
          ref={input}
          id={id}
          class={mono === true ? "mono" : undefined}
          name={name}
          // One of several; the types of Preact want to know which.
          type={(secret && shown ? "text" : type) as "text"}
          value={value}
          autocomplete={autocomplete}
          inputMode={inputMode}
          maxLength={props.maxLength}
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
            class="reveal"
            aria-label={`${shown ? "Hide" : "Show"} ${label.toLowerCase()}`}
            onClick={() => setShown(!shown)}
          >
            {shown ? "Hide" : "Show"}
          </button>
        )}
      </div>
      {live}
      {mistake !== undefined && (
        <p class="mistake" id={`${id}-mistake`}>
          {mistake}
        </p>
      )}
    </div>
  );
}
