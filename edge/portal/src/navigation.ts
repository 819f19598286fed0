// Links for the router, and the page after sign-in.
import { PAGES, pageAt } from "./pages";

const PATHS = PAGES.flatMap(({ path }) => (path === null || path === "/" ? [] : [path]));

/** Matches links to the portal's pages. Other links, such as the API's, load a document. */
export const OURS = new RegExp(`^(?:/|${PATHS.join("|")})/?(?:[?#]|$)`);

/**
 * Returns the page after sign-in: always a page of the portal, whatever the address bar contains.
 */
export function nextPage(): string {
  const next = new URLSearchParams(location.search).get("next") ?? "";
  if (!next.startsWith("/")) return "/overview";
  const { origin, pathname, search } = new URL(next, location.origin);
  const page = origin === location.origin ? pageAt(pathname) : undefined;
  return page === undefined || page.access === "guest" ? "/overview" : pathname + search;
}

/** Returns the sign-in page with a link back to the current page. */
export function signInPage(): string {
  const here = location.pathname + location.search;
  return `/sign-in?next=${location.search === "" ? here : encodeURIComponent(here)}`;
}
