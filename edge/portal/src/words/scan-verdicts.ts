// The four verdicts, and short names of reasons for charts and tables.
import type { Details } from "../api/details";
import type { ScanResult } from "../api/scans";
import type { VerdictTone } from "./verdicts";

export type VerdictName = "deliverable" | "undeliverable" | "risky" | "unknown";

interface ScanVerdict {
  name: VerdictName;
  title: string;
  tone: VerdictTone;
  /** What to do with its addresses. */
  advice: string;
}

/** The verdicts in the order shown: the bits of a copy's selection (clients/lists/src/wasm.rs). */
export const VERDICTS: readonly ScanVerdict[] = [
  { name: "deliverable", title: "Deliverable", tone: "good", advice: "Send." },
  { name: "undeliverable", title: "Undeliverable", tone: "bad", advice: "Don’t send: it would come back." },
  {
    name: "risky",
    title: "Risky",
    tone: "risky",
    advice: "Send with care: its domain accepts every name.",
  },
  { name: "unknown", title: "Unknown", tone: "unknown", advice: "Ask again later: it may be fine." },
];

export const titleOf = (verdict: VerdictName) =>
  VERDICTS.find(({ name }) => name === verdict)?.title ?? verdict;

export const toneOf = (verdict: VerdictName) =>
  VERDICTS.find(({ name }) => name === verdict)?.tone ?? "unknown";

/** Returns a result's verdict; without evidence, it follows from the status. */
export function verdictOf({ status, verdict }: ScanResult): VerdictName {
  if (VERDICTS.some(({ name }) => name === verdict)) return verdict as VerdictName;
  if (status === true) return "deliverable";
  return [false, "invalid_format", "domain_not_found", "no_mx_records"].includes(status)
    ? "undeliverable"
    : "unknown";
}

/** Returns the reason in a few words; an unknown reason is shown as its name. */
export function shortReason({ status, reason }: ScanResult): string {
  const known = reason ?? (status === "invalid_format" ? "malformed" : undefined);
  if (known === undefined) return "";
  return (SHORT_REASONS as Readonly<Record<string, string>>)[known] ?? known.replaceAll("_", " ");
}

export const SHORT_REASONS: Readonly<Record<Details["reason"], string>> = {
  accepted: "Accepted by its mail server",
  accepted_catch_all: "Catch-all domain",
  accepted_by_operator_policy: "Provider accepts every name",
  no_such_mailbox: "No such mailbox",
  domain_refuses_mail: "Domain refuses mail",
  mailbox_disabled: "Mailbox disabled",
  mailbox_full: "Mailbox full",
  restricted: "Takes no email from outside",
  mailbox_busy: "Mailbox busy",
  blocked: "Blocks our network",
  rate_limited: "Rate-limits us",
  reverse_dns_required: "Wants another name for us",
  relay_denied: "Server not in charge of the domain",
  greylisted: "Greylisted",
  opted_out: "Domain has opted out",
  unclear: "Unclear reply",
  server_unavailable: "Server unavailable",
  protocol_error: "Server makes no sense",
  smtputf8_unsupported: "No letters beyond ASCII",
  connection_failed: "Connection failed",
  timeout: "No response in time",
  domain_not_found: "No such domain",
  null_mx: "Domain accepts no mail",
  no_mx: "No mail server",
  no_usable_address: "Mail server can’t be reached",
  dns_failure: "Name servers failed",
  our_limit: "No free connection",
  malformed: "Not an address",
};
