import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface PageProps {
  title: string;
  lead?: ComponentChildren;
  /** `narrow` for one form, `sections` for cards with their headings beside them. */
  layout?: "narrow" | "wide" | "sections" | "overview" | "home";
  children: ComponentChildren;
}

let first = true;

/** A page's frame. Its heading takes the focus when the page changes, so that readers of screens hear it. */
export function Page({ title, lead, layout = "wide", children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · rcpt`;
    if (first) first = false;
    else if (document.querySelector("main input:focus") === null) heading.current?.focus();
  }, [title]);
  return (
    <main class={`page ${layout}`} id="content" tabIndex={-1}>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
      {children}
    </main>
  );
}
