// Buttons and links in a row, which wraps if necessary.
import type { ComponentChildren } from "preact";
import css from "./actions.module.css";

export function Actions({ children }: { children: ComponentChildren }) {
  return <div class={css.actions}>{children}</div>;
}
