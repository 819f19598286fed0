import { useEffect, useState } from "preact/hooks";
import { isPage, pageAt } from "./pages";

const listeners = new Set<() => void>();

/** Goes to a page of the portal without loading a document. `state` is read by the page that is reached. */
export function go(to: string, options: { replace?: boolean; state?: unknown } = {}): void {
  const { replace = false, state = null } = options;
  if (replace) history.replaceState(state, "", to);
  else history.pushState(state, "", to);
  announce();
}

/** The path of the address bar, followed as it changes. */
export function usePath(): string {
  const [path, setPath] = useState(location.pathname);
  useEffect(() => {
    const listener = () => setPath(location.pathname);
    listeners.add(listener);
    window.addEventListener("popstate", listener);
    document.addEventListener("click", followLink);
    // What changed between the first drawing and now.
    listener();
    return () => {
      listeners.delete(listener);
      window.removeEventListener("popstate", listener);
      document.removeEventListener("click", followLink);
    };
  }, []);
  return path;
}

/** Where to go after sign-in: only ever a page of ours, whatever the address bar was made to say. */
export function nextPage(): string {
  const next = new URLSearchParams(location.search).get("next") ?? "";
  return isPage(next) && pageAt(next).access !== "guest" ? next : "/overview";
}

function announce(): void {
  for (const listener of listeners) listener();
}

function followLink(event: MouseEvent): void {
  const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (
    event.defaultPrevented ||
    modified ||
    link === null ||
    link.target !== "" ||
    link.hasAttribute("download")
  )
    return;
  if (link.origin !== location.origin || !isPage(link.pathname)) return;
  if (link.hash !== "" && link.pathname === location.pathname) return;
  event.preventDefault();
  go(link.pathname + link.search + link.hash);
}
