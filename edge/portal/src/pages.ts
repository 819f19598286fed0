// Every page of the portal: its path, its tab's title, and who may see it. Data only, so that the
// build, the navigation and the pages themselves can all read it.

/** `guest` pages are for people who are not signed in, `member` pages for those who are. */
export type Access = "anyone" | "guest" | "member";

interface Listed {
  /** Null for the page shown for unknown paths. */
  path: `/${string}` | null;
  name: string;
  title: string;
  access: Access;
  /** Name of the page's group in `src/pages`, which its document preloads. */
  file: "home" | "privacy" | "guest" | "member" | "scans" | "docs";
  /** For search engines and link previews. Pages without a description aren't listed anywhere. */
  description: string | null;
}

const GUEST = { access: "guest", file: "guest", description: null } as const;
const ANYONE = { access: "anyone", file: "guest", description: null } as const;
const MEMBER = { access: "member", file: "member", description: null } as const;

export const PAGES = [
  {
    path: "/",
    name: "home",
    title: "Can this address receive mail?",
    access: "anyone",
    file: "home",
    description:
      "Check an email address with its own mail server, without sending anything. A blocked check is never called a bad address. 100 free checks a day.",
  },
  {
    ...GUEST,
    path: "/register",
    name: "register",
    title: "Create your account",
    description:
      "Create a free rcpt account: 100 email address checks every day, and an API key in a minute.",
  },
  {
    path: "/docs",
    name: "docs",
    title: "API reference",
    access: "anyone",
    file: "docs",
    description:
      "The rcpt API: check an email address with one request, in curl, TypeScript or Python. Every endpoint, status and reason.",
  },
  {
    path: "/start",
    name: "start",
    title: "From zero to a verdict in five minutes",
    access: "anyone",
    file: "docs",
    description:
      "Create an account, copy your API key and check your first email address: with curl, on the command line, in TypeScript or Python.",
  },
  {
    path: "/sandbox",
    name: "sandbox",
    title: "Sandbox addresses",
    access: "anyone",
    file: "docs",
    description:
      "Email addresses for tests: each always gives the same verdict, status and reason, and no mail server is asked.",
  },
  {
    path: "/webhooks",
    name: "webhooks",
    title: "Webhooks",
    access: "anyone",
    file: "docs",
    description:
      "The event when a scan ends or the daily checks run out: its body and headers, its signature, and how often it comes.",
  },
  {
    path: "/privacy",
    name: "privacy",
    title: "Privacy",
    access: "anyone",
    file: "privacy",
    description:
      "What rcpt keeps and what it doesn’t: the addresses you check are never stored or logged, and there are no trackers.",
  },
  { ...GUEST, path: "/sign-in", name: "sign-in", title: "Sign in" },
  { ...ANYONE, path: "/verify", name: "verify", title: "Confirm your email address" },
  { ...ANYONE, path: "/forgot", name: "forgot", title: "Forgot your password?" },
  { ...ANYONE, path: "/reset", name: "reset", title: "Set a new password" },
  { ...ANYONE, path: "/confirm-address", name: "confirm-address", title: "Use this email address?" },
  { ...ANYONE, path: "/stop", name: "stop", title: "Wasn’t that you?" },
  { ...ANYONE, path: "/stop-emails", name: "stop-emails", title: "Stop these emails?" },
  { ...ANYONE, path: "/deleted", name: "deleted", title: "Your account has been deleted" },
  { ...MEMBER, path: "/overview", name: "overview", title: "Overview" },
  { ...MEMBER, path: "/scans", name: "scans", title: "Scans", file: "scans" },
  { ...MEMBER, path: "/guard", name: "guard", title: "Sign-up guard" },
  { ...MEMBER, path: "/api-key", name: "api-key", title: "API key" },
  { ...MEMBER, path: "/settings", name: "settings", title: "Settings" },
  { ...MEMBER, path: "/settings/security", name: "security", title: "Security" },
  { ...MEMBER, path: "/settings/notifications", name: "notifications", title: "Notifications" },
  { ...MEMBER, path: "/settings/plan", name: "plan", title: "Plan" },
  { ...ANYONE, path: null, name: "not-found", title: "Page not found" },
] as const satisfies readonly Listed[];

export type Page = (typeof PAGES)[number];
export type PageName = Page["name"];

/** Returns the page at a path, ignoring a trailing slash. */
export function pageAt(path: string): Page | undefined {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  return PAGES.find((page) => page.path !== null && page.path === plain);
}
