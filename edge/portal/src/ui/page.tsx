// A page's frame: its landmark, its heading, and the title of the tab.
import { clsx } from "clsx";
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import css from "./page.module.css";

/** `narrow` for one form, `full` for a page with its own layout. */
type Layout = "narrow" | "wide" | "full";

interface PageProps {
  title: string;
  /** The parent page. */
  above?: { href: string; text: string };
  /** Links to other pages of the same section. */
  sections?: ComponentChildren;
  lead?: ComponentChildren;
  layout?: Layout;
  children: ComponentChildren;
}

let first = true;

/** Sets the tab's title, and moves the focus to the heading when the page changes, for screen readers. */
export function useTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · rcpt`;
    if (first) first = false;
    else if (document.querySelector("main input:focus") === null) heading.current?.focus();
  }, [title]);
  return heading;
}

export function Page({ title, above, sections, lead, layout = "wide", children }: PageProps) {
  const heading = useTitle(title);
  return (
    <Main layout={layout}>
      {above !== undefined && (
        <a class={css.above} href={above.href}>
          <span aria-hidden="true">←</span> {above.text}
        </a>
      )}
      {sections}
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {lead !== undefined && <Lead>{lead}</Lead>}
      {children}
    </Main>
  );
}

interface MainProps {
  layout: Layout;
  busy?: boolean;
  children: ComponentChildren;
}

export function Main({ layout, busy, children }: MainProps) {
  return (
    <main class={clsx(css.page, css[layout])} id="content" tabIndex={-1} aria-busy={busy}>
      {children}
    </main>
  );
}

export function Lead({ children }: { children: ComponentChildren }) {
  return <p class={css.lead}>{children}</p>;
}

/** Draws a line below a form, with a link to another page. */
export function Aside({ children }: { children: ComponentChildren }) {
  return <p class={css.aside}>{children}</p>;
}

/** Draws further notes as a list. */
export function Notes({ children }: { children: ComponentChildren }) {
  return <ul class={css.notes}>{children}</ul>;
}
