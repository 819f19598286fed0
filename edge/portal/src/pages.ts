import type { ComponentType } from "preact";
import pages from "../pages.json";
import ApiKey from "./pages/api-key";
import Forgot from "./pages/forgot";
import Home from "./pages/home";
import NotFound from "./pages/not-found";
import Overview from "./pages/overview";
import Register from "./pages/register";
import Reset from "./pages/reset";
import SignIn from "./pages/sign-in";
import Verify from "./pages/verify";

/** A page of the portal; `path` is null for the one that is shown where there is none. */
export interface Page {
  path: string | null;
  name: string;
  title: string;
  access: string;
  content: Content;
}

/** The pages on the way to a first verdict come at once; the two large ones when they are opened. */
export type Content = { here: ComponentType } | { load: () => Promise<{ default: ComponentType }> };

const CONTENTS: Record<string, Content> = {
  home: { here: Home },
  register: { here: Register },
  "sign-in": { here: SignIn },
  verify: { here: Verify },
  forgot: { here: Forgot },
  reset: { here: Reset },
  overview: { here: Overview },
  "api-key": { here: ApiKey },
  settings: { load: () => import("./pages/settings") },
  docs: { load: () => import("./pages/docs") },
  "not-found": { here: NotFound },
};

const ALL: Page[] = pages.map((page) => ({ ...page, content: CONTENTS[page.name]! }));
const NOT_FOUND = ALL.find((page) => page.path === null)!;

/** The page at a path; a trailing slash makes no difference. */
export function pageAt(path: string): Page {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  return ALL.find((page) => page.path === plain) ?? NOT_FOUND;
}

export function isPage(path: string): boolean {
  return pageAt(path) !== NOT_FOUND;
}
