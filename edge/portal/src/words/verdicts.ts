import type { ValidationResult } from "../api/details";

/** `unknown`: nobody can tell, which is not the same as no. */
export type Tone = "good" | "bad" | "unknown";

/** A verdict as a person would put it. */
export interface Explanation {
  tone: Tone;
  title: string;
  text: string;
}

export function explain(result: ValidationResult): Explanation {
  const domain = result.email.slice(result.email.lastIndexOf("@") + 1);
  switch (result.status) {
    case true:
      return good("Yes, it can receive mail", `The mail server of ${domain} accepts mail for this address.`);
    case false:
      return bad("No, it cannot receive mail", `The mail server of ${domain} refused this recipient.`);
    case "invalid_format":
      return bad(
        "This is not an email address",
        "It does not have the form name@domain, so no mail server was asked.",
      );
    case "domain_not_found":
      return bad(
        "The domain does not exist",
        `There is no domain ${domain}. Check the spelling after the @.`,
      );
    case "no_mx_records":
      return bad(
        "The domain takes no mail",
        `${domain} exists but has no mail server, so no address there can receive mail.`,
      );
    case "smtp_connect_error":
      return unknown(
        "No verdict: the mail server could not be asked",
        `The mail server of ${domain} could not be reached, or failed before it said yes or no. Try again later.`,
      );
    case "smtp_timeout":
      return unknown(
        "No verdict: the mail server was too slow",
        `The mail server of ${domain} did not answer within ten seconds. The address may be fine. Try again later.`,
      );
    case "blocked_by_provider":
      return unknown(
        "No verdict: the mail server would not tell us",
        `The mail server of ${domain} turned our question away. That says nothing about the address.`,
      );
    case "fatal_exception":
      return unknown(
        "No verdict: something failed on our side",
        "This check was not counted. Try again in a moment.",
      );
  }
}

/** The reason behind a verdict, when the check asked for it. */
export function explainReason(reason: string): string {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}

const REASONS: Record<string, string> = {
  accepted: "The server said yes to this recipient.",
  accepted_catch_all:
    "The server said yes, but it says yes to any name at this domain, so this proves little.",
  no_such_mailbox: "The server said that there is no such mailbox.",
  domain_refuses_mail: "The server said that it takes no mail for this domain.",
  mailbox_disabled: "The server said that the mailbox is disabled.",
  mailbox_full: "The server said that the mailbox is full. It may work again once its owner has cleared it.",
  blocked: "The server refuses our network as a matter of policy. It did not speak about the recipient.",
  rate_limited: "The server has had too many questions for now.",
  reverse_dns_required: "The server wants our network's name to be set up differently before it answers.",
  relay_denied: "The server says that it is not in charge of this domain.",
  greylisted: "The server puts off every first contact and asks to be tried again later (greylisting).",
  server_unavailable: "The server reported a temporary failure of its own.",
  protocol_error: "The server's answers made no sense as SMTP.",
  smtputf8_unsupported: "The server does not support addresses with letters beyond ASCII.",
  connection_failed: "No connection to the server could be made.",
  tls_failed: "The server insists on encryption, and the encrypted connection failed.",
  timeout: "The server did not answer within ten seconds.",
  domain_not_found: "The DNS says that this domain does not exist.",
  null_mx: "The domain declares that it never takes mail (null MX).",
  no_mx: "The domain names no mail server, and no host of its own name takes mail.",
  no_usable_address: "The domain's mail servers have no address that can be reached from the internet.",
  dns_failure: "The domain's name servers gave no usable answer.",
  our_limit: "We had no free connection for this server just now.",
};

const good = (title: string, text: string): Explanation => ({ tone: "good", title, text });
const bad = (title: string, text: string): Explanation => ({ tone: "bad", title, text });
const unknown = (title: string, text: string): Explanation => ({ tone: "unknown", title, text });
