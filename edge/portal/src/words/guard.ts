// Reasons for the sign-up guard's decisions.
import type { Schemas } from "../api/client";

type Kind = Schemas["GuardPolicy"]["refuse"][number];

const REFUSED: Readonly<Record<Kind | "blocked_domain", string>> = {
  invalid: "not an email address",
  undeliverable: "can’t receive email",
  disposable: "throw-away mailbox",
  suspected: "mail server of a throw-away service",
  parked: "parked domain",
  relay: "forwarding service",
  role: "shared address",
  blocked_domain: "domain you always refuse",
};

/** Returns the text shown after the count of refused sign-ups; an unknown reason's name. */
export function refusedKind(reason: string): string {
  return (REFUSED as Readonly<Record<string, string>>)[reason] ?? reason.replaceAll("_", " ");
}

const ALLOWED: Readonly<Record<string, string>> = {
  accepted: "Nothing in your policy refuses it.",
  allowed_domain: "You always allow its domain.",
  not_in_time: "It couldn’t be checked in time, so it’s allowed.",
  used_up: "Your checks are used up, so it’s allowed without one.",
  key_used_up: "The API key’s checks of the day are used up, so it’s allowed without one.",
  throttled: "Too many checks came in a short time, so it’s allowed without one.",
  too_many_in_flight: "Too many of your checks are running, so it’s allowed without one.",
};

/** Returns the reason why an address is allowed. An unknown reason means that our check failed. */
export function whyAllowed(reason: string): string {
  return ALLOWED[reason] ?? "We couldn’t check it, so it’s allowed.";
}
