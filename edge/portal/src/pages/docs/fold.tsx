// A section that folds, and opens when a link leads to it or into it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import css from "./fold.module.css";

interface FoldProps {
  id: string;
  part: "endpoint" | "table";
  title: ComponentChildren;
  open: boolean;
  children: ComponentChildren;
}

export function Fold({ id, part, title, open, children }: FoldProps) {
  const fold = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const follow = () => {
      const target = location.hash === "" ? null : document.getElementById(location.hash.slice(1));
      if (fold.current === null || target === null || !fold.current.contains(target)) return;
      fold.current.open = true;
      target.scrollIntoView();
    };
    follow();
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <details ref={fold} class={css.fold} id={id} data-part={part} open={open}>
      <summary>{title}</summary>
      <div class={css.inside}>{children}</div>
    </details>
  );
}
