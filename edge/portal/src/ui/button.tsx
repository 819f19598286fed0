// Buttons, and links that look like buttons.
import { clsx } from "clsx";
import type { ComponentChildren } from "preact";
import css from "./button.module.css";

/** `danger` leads to a dangerous action, `destroy` executes it. */
export type ButtonKind = "primary" | "plain" | "danger" | "destroy" | "link";

interface ButtonProps {
  type?: "button" | "submit";
  kind?: ButtonKind;
  small?: boolean;
  busy?: boolean;
  busyLabel?: string;
  onClick?: () => void;
  label?: string;
  children: ComponentChildren;
}

/** A button that keeps the focus while busy, instead of being disabled. */
export function Button(props: ButtonProps) {
  const {
    type = "button",
    kind = "plain",
    small = false,
    busy = false,
    busyLabel,
    onClick,
    label,
    children,
  } = props;
  return (
    <button
      type={type}
      class={clsx(css.button, css[kind], small && css.small)}
      aria-disabled={busy ? "true" : undefined}
      aria-busy={busy ? "true" : undefined}
      aria-label={label}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.();
      }}
    >
      {busy && <Spinner />}
      {busy && busyLabel !== undefined ? busyLabel : children}
    </button>
  );
}

interface LinkButtonProps {
  href: string;
  kind?: "primary" | "plain";
  small?: boolean;
  large?: boolean;
  current?: boolean;
  children: ComponentChildren;
}

export function LinkButton(props: LinkButtonProps) {
  const { href, kind = "plain", small = false, large = false, current, children } = props;
  return (
    <a
      class={clsx(css.button, css[kind], small && css.small, large && css.large)}
      href={href}
      aria-current={current === true ? "page" : undefined}
    >
      {children}
    </a>
  );
}

export function Spinner() {
  return <span class={css.spinner} aria-hidden="true" />;
}
