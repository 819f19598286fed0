// Every page of the portal: where it is, what its tab says, and who may see it. Data only, so that the
// build, the navigation and the pages themselves can all read it.

/** `guest` pages are for people who are not signed in, `member` pages for those who are. */
export type Access = "anyone" | "guest" | "member";

interface Listed {
  /** Null for the page that is shown where there is none. */
  path: `/${string}` | null;
  name: string;
  title: string;
  access: Access;
  /** The file of `src/pages` that it comes with, which its document preloads. */
  file: "home" | "guest" | "member" | "docs";
  /** Whether search engines may list it. */
  indexed: boolean;
}

export const PAGES = [
  {
    path: "/",
    name: "home",
    title: "Can this address receive mail?",
    access: "anyone",
    file: "home",
    indexed: true,
  },
  {
    path: "/register",
    name: "register",
    title: "Create your account",
    access: "guest",
    file: "guest",
    indexed: true,
  },
  { path: "/sign-in", name: "sign-in", title: "Sign in", access: "guest", file: "guest", indexed: false },
  {
    path: "/verify",
    name: "verify",
    title: "Confirm your email address",
    access: "anyone",
    file: "guest",
    indexed: false,
  },
  {
    path: "/forgot",
    name: "forgot",
    title: "Forgot your password?",
    access: "anyone",
    file: "guest",
    indexed: false,
  },
  {
    path: "/reset",
    name: "reset",
    title: "Set a new password",
    access: "anyone",
    file: "guest",
    indexed: false,
  },
  {
    path: "/overview",
    name: "overview",
    title: "Overview",
    access: "member",
    file: "member",
    indexed: false,
  },
  { path: "/api-key", name: "api-key", title: "API key", access: "member", file: "member", indexed: false },
  {
    path: "/settings",
    name: "settings",
    title: "Settings",
    access: "member",
    file: "member",
    indexed: false,
  },
  { path: "/docs", name: "docs", title: "API reference", access: "anyone", file: "docs", indexed: true },
  {
    path: "/deleted",
    name: "deleted",
    title: "Your account has been deleted",
    access: "anyone",
    file: "guest",
    indexed: false,
  },
  { path: null, name: "not-found", title: "Page not found", access: "anyone", file: "guest", indexed: false },
] as const satisfies readonly Listed[];

export type Page = (typeof PAGES)[number];
export type PageName = Page["name"];
export type PagePath = NonNullable<Page["path"]>;

/** The page at a path; a trailing slash makes no difference. */
export function pageAt(path: string): Page | undefined {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  return PAGES.find((page) => page.path !== null && page.path === plain);
}
