// Verdicts, described in everyday words.
import type { Details, ValidationResult } from "../api/details";

/** Tone of a verdict; `unknown` is neither `bad` nor `risky`. */
export type VerdictTone = "good" | "bad" | "risky" | "unknown";

export interface Explanation {
  tone: VerdictTone;
  title: string;
  text: string;
}

export function explain(result: ValidationResult): Explanation {
  const domain = result.email.slice(result.email.lastIndexOf("@") + 1);
  switch (result.status) {
    case true:
      return accepted(domain, result);
    case false:
      return bad(
        "Undeliverable: it can’t receive mail",
        `The mail server of ${domain} refused this recipient.`,
      );
    case "invalid_format":
      return bad("Undeliverable: this isn’t an email address", problemOf(result));
    case "domain_not_found":
      return bad("Undeliverable: the domain doesn’t exist", `There is no domain ${domain}.`);
    case "no_mx_records":
      return bad(
        "Undeliverable: the domain doesn’t accept mail",
        `${domain} exists, but nothing there can receive mail.`,
      );
    case "smtp_connect_error":
      return unknown(
        "Unknown: the mail server couldn’t be asked",
        `The mail server of ${domain} was unreachable, or failed before it said yes or no.`,
      );
    case "smtp_timeout":
      return unknown(
        "Unknown: the mail server was too slow",
        `The mail server of ${domain} didn’t respond in time. The address may be fine.`,
      );
    case "blocked_by_provider":
      return unknown(
        "Unknown: the mail server declined to answer",
        result.details?.reason === "mailbox_busy"
          ? `The mail server of ${domain} says that this mailbox gets too much mail right now. Ask again later.`
          : `The mail server of ${domain} turned our network away. That says nothing about the address.`,
      );
    case "fatal_exception":
      return unknown("Unknown: something failed on our side", "This check wasn’t counted. Try again soon.");
  }
}

function accepted(domain: string, { verdict, details }: ValidationResult): Explanation {
  if (details?.catch_all === "yes" || details?.reason === "accepted_catch_all")
    return risky(
      "Risky: the domain accepts every name",
      `${domain} says yes to any name, so this one may not exist.`,
    );
  if (verdict === "risky" || details?.confidence === "low")
    return risky(
      "Risky: accepted, but it may not exist",
      `The mail server of ${domain} says yes to names that may not exist.`,
    );
  return good(
    "Deliverable: it can receive mail",
    `The mail server of ${domain} accepts mail for this address.`,
  );
}

function problemOf({ details }: ValidationResult): string {
  return details?.problem ?? "No mail server was asked.";
}

interface StatusMeaning {
  status: ValidationResult["status"];
  verdict: string;
  means: string;
  /** Advice for the caller, with code between backticks. */
  todo: string;
  /** True if a check with this verdict is counted. */
  counted: boolean;
}

export const STATUSES: readonly StatusMeaning[] = [
  {
    status: true,
    verdict: "deliverable or risky",
    means: "The mail server accepts mail for the address.",
    todo: "Send to it. With details, treat “risky” as you treat unknown.",
    counted: true,
  },
  {
    status: false,
    verdict: "undeliverable",
    means: "The mail server refuses the recipient.",
    todo: "Don’t send to it.",
    counted: true,
  },
  {
    status: "invalid_format",
    verdict: "undeliverable",
    means: "This isn’t an email address.",
    todo: "Ask the person to correct it.",
    counted: true,
  },
  {
    status: "domain_not_found",
    verdict: "undeliverable",
    means: "The domain doesn’t exist.",
    todo: "Ask the person to correct it. With details, a suggestion may help.",
    counted: true,
  },
  {
    status: "no_mx_records",
    verdict: "undeliverable",
    means: "The domain doesn’t accept mail.",
    todo: "Don’t send to it.",
    counted: true,
  },
  {
    status: "smtp_connect_error",
    verdict: "unknown",
    means: "No mail server of the domain could be asked.",
    todo: "Keep it, and check again later.",
    counted: true,
  },
  {
    status: "smtp_timeout",
    verdict: "unknown",
    means: "The mail server didn’t respond in time.",
    todo: "Keep it, and check again later.",
    counted: true,
  },
  {
    status: "blocked_by_provider",
    verdict: "unknown",
    means: "The mail server refused us. The mailbox may well exist.",
    todo: "Keep it, and check again later.",
    counted: true,
  },
  {
    status: "fatal_exception",
    verdict: "unknown",
    means: "Something failed on our side.",
    todo: "Check again in a moment.",
    counted: false,
  },
];

/** Returns a sentence about a verdict's reason; an unknown reason is shown as its name. */
export function explainReason(reason: string): string {
  return (REASONS as Readonly<Record<string, string>>)[reason] ?? `Reason: ${reason.replaceAll("_", " ")}.`;
}

export const REASONS: Readonly<Record<Details["reason"], string>> = {
  accepted: "The server said yes to this recipient.",
  accepted_catch_all: "The server said yes, and it also says yes to names we made up.",
  accepted_by_operator_policy: "The server said yes, as this provider does for every name.",
  no_such_mailbox: "The server said there’s no such mailbox.",
  domain_refuses_mail: "The server said it doesn’t accept mail for this domain.",
  mailbox_disabled: "The server said the mailbox is disabled.",
  mailbox_full: "The server said the mailbox is full. It may work again once its owner makes room.",
  restricted: "The address exists, but takes email from inside its organisation only.",
  mailbox_busy: "The server said the mailbox is getting too much mail right now. Try again later.",
  blocked: "The server blocks our network as a matter of policy. It said nothing about the recipient.",
  rate_limited: "The server is rate-limiting us.",
  reverse_dns_required: "The server wants our network’s name to be set up differently.",
  relay_denied: "The server says it isn’t in charge of this domain.",
  greylisted: "The server puts off every first contact and asks us to try again later (greylisting).",
  opted_out: "The domain’s owner asked us not to check its addresses, so we didn’t connect to its server.",
  unclear: "We couldn’t tell from the server’s reply whether it meant the mailbox.",
  server_unavailable: "The server reported a temporary failure of its own.",
  protocol_error: "The server’s replies or its encryption made no sense.",
  smtputf8_unsupported: "The server doesn’t support addresses with letters beyond ASCII.",
  connection_failed: "We couldn’t connect to the server.",
  timeout: "The server didn’t respond within ten seconds.",
  domain_not_found: "DNS says this domain doesn’t exist.",
  null_mx: "The domain declares that it never accepts mail (null MX).",
  no_mx: "The domain names no mail server, and no host of its own name accepts mail.",
  no_usable_address: "The domain’s mail servers have no address that can be reached from the internet.",
  dns_failure: "The domain’s name servers gave no usable response.",
  our_limit: "We had no free connection to this server just now.",
  malformed: "No mail server was asked.",
};

/** Returns the mail server's reply: code, enhanced code and text. */
export function replyOf({ smtp_code, enhanced_code, smtp_text }: Details): string | undefined {
  if (smtp_code == null) return undefined;
  return [smtp_code, enhanced_code, smtp_text].filter((part) => part != null).join(" ");
}

const good = (title: string, text: string): Explanation => ({ tone: "good", title, text });
const bad = (title: string, text: string): Explanation => ({ tone: "bad", title, text });
const risky = (title: string, text: string): Explanation => ({ tone: "risky", title, text });
const unknown = (title: string, text: string): Explanation => ({ tone: "unknown", title, text });
