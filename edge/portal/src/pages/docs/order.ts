// The order of operations in the reference: first the operations for programs, then the account's.
import { type Document, type Endpoint, byTag } from "./document";

/** Tags that programs need; the page shows all others after the basics, folded. */
const FIRST = ["Validation", "Guard", "Scans", "Quota"];

/** The order in which people use the operations. */
const OPERATIONS = [
  "validateEmail",
  "validateEmails",
  "checkDomain",
  "decideSignUp",
  "showGuard",
  "updateGuard",
  "rotateGuardSecret",
  "supabaseHook",
  "createScan",
  "putScanPart",
  "showScan",
  "scanResults",
  "cancelScan",
  "deleteScan",
  "listScans",
  "showNotifications",
  "updateNotifications",
  "testWebhook",
  "rotateWebhookSecret",
  "register",
  "verifyEmail",
  "login",
  "listSessions",
  "endSession",
  "signOut",
  "signOutEverywhere",
  "forgotPassword",
  "showReset",
  "resetPassword",
  "stopChanges",
  "stopOwnChanges",
  "stopEmails",
  "changePassword",
  "showApiKey",
  "rotateApiKey",
  "me",
  "updateSettings",
  "deleteAccount",
  "setUpTotp",
  "enableTotp",
  "replaceRecoveryCodes",
  "disableTotp",
  "passkeySignInOptions",
  "passkeySignIn",
  "passkeyOptions",
  "addPasskey",
  "listPasskeys",
  "removePasskey",
];

/** Order of fields: the request's, then the response's; of each, the most important fields first. */
const FIELDS = [
  "email",
  "position",
  "id",
  "addresses",
  "name",
  "state",
  "total",
  "received",
  "answered",
  "waiting",
  "by_verdict",
  "counts",
  "verdict",
  "status",
  "cached",
  "pending",
  "details",
  "confidence",
  "reason",
  "problem",
  "mx_host",
  "operator",
  "smtp_code",
  "enhanced_code",
  "smtp_text",
  "retry_after",
  "suggestion",
  "catch_all",
  "domain",
  "kind",
  "accepts_mail",
  "suspected",
  "evidence",
  "disposable",
  "role_account",
  "free_provider",
  "deliverable",
  "undeliverable",
  "risky",
  "unknown",
  "true",
  "false",
  "plan",
  "unlimited",
  "email_checks",
  "daily_allowance",
  "used_today",
  "left_today",
  "current",
  "date",
];

type Tagged = [tag: string, endpoints: Endpoint[]];

/** Splits the tags into those that programs need (`first`), and all others. */
export function inOrder(document: Document): { first: Tagged[]; others: Tagged[] } {
  const tags = byTag(document).map(
    ([tag, endpoints]): Tagged => [
      tag,
      sorted(endpoints, OPERATIONS, ({ operation }) => operation.operationId),
    ],
  );
  return {
    first: sorted(
      tags.filter(([tag]) => FIRST.includes(tag)),
      FIRST,
      ([tag]) => tag,
    ),
    others: tags.filter(([tag]) => !FIRST.includes(tag)),
  };
}

export function fieldsInOrder<T>(properties: Record<string, T>): [string, T][] {
  return sorted(Object.entries(properties), FIELDS, ([name]) => name);
}

/** Returns a JSON value whose objects have their members in the order of the reference. */
export function inReadingOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inReadingOrder);
  if (typeof value !== "object" || value === null) return value;
  const members = fieldsInOrder(value as Record<string, unknown>);
  return Object.fromEntries(members.map(([name, member]) => [name, inReadingOrder(member)]));
}

/** Sorts items by `order`; items without a place in it come last, in their original order. */
function sorted<T>(items: T[], order: readonly string[], nameOf: (item: T) => string): T[] {
  const place = (item: T) => {
    const at = order.indexOf(nameOf(item));
    return at < 0 ? order.length : at;
  };
  return [...items].sort((a, b) => place(a) - place(b));
}
