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

/** Reasons without a verdict. */
const ALLOWED: Readonly<Record<string, string>> = {
  allowed_domain: "You always allow its domain.",
  malformed: "It isn’t an email address, but your policy doesn’t refuse that.",
  not_in_time: "It couldn’t be checked in time, so it’s allowed.",
  used_up: "Your checks are used up, so it’s allowed without one.",
  key_used_up: "The API key’s checks of the day are used up, so it’s allowed without one.",
  throttled: "Too many checks came in a short time, so it’s allowed without one.",
  too_many_in_flight: "Too many of your checks are running, so it’s allowed without one.",
};

/** Reasons for an unknown verdict that are our failures. */
const OURS = ["unavailable", "upstream", "internal", "dns_failure", "our_limit"];

/** Returns the reason why an address is allowed. */
export function whyAllowed({ reason, verdict }: Pick<Schemas["Decision"], "reason" | "verdict">): string {
  const without = ALLOWED[reason];
  if (without !== undefined) return without;
  if (verdict === "deliverable") return "It can receive mail. Nothing in your policy refuses it.";
  if (verdict === "risky")
    return "It may not exist: its server accepts every name. Nothing in your policy refuses it.";
  if (verdict === "undeliverable") return "It can’t receive mail, but your policy doesn’t refuse that.";
  return OURS.includes(reason)
    ? "We couldn’t check it, so it’s allowed."
    : "Its mail server didn’t say whether it exists, so it’s allowed.";
}
