import type { ComponentChildren } from "preact";

interface ButtonProps {
  type?: "button" | "submit";
  kind?: "primary" | "plain" | "danger" | "link";
  busy?: boolean;
  busyLabel?: string;
  onClick?: () => void;
  label?: string;
  children: ComponentChildren;
}

/** While busy it keeps the focus, and says so, instead of being disabled under the reader's hands. */
export function Button(props: ButtonProps) {
  const { type = "button", kind = "plain", busy = false, busyLabel, onClick, label, children } = props;
  return (
    <button
      type={type}
      class={`button ${kind}`}
      aria-disabled={busy ? "true" : undefined}
      aria-busy={busy ? "true" : undefined}
      aria-label={label}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.();
      }}
    >
      {busy && <span class="spinner" aria-hidden="true" />}
      {busy && busyLabel !== undefined ? busyLabel : children}
    </button>
  );
}
