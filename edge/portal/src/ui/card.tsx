// A section in a box, named by its heading.
import { clsx } from "clsx";
import type { ComponentChildren } from "preact";
import css from "./card.module.css";

interface CardProps {
  /** Unique on the page; links may lead to it. */
  id: string;
  title: string;
  /** True if the heading is next to the content in wide windows. */
  split?: boolean;
  danger?: boolean;
  children: ComponentChildren;
}

export function Card({ id, title, split = false, danger = false, children }: CardProps) {
  return (
    <section class={clsx(css.card, split && css.split, danger && css.danger)} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <div class={css.content}>{children}</div>
    </section>
  );
}
