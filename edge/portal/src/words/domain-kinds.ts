// Kinds of domains, described in everyday words.
import type { Details } from "../api/details";

export type DomainDetails = NonNullable<Details["domain"]>;

/** Returns the domain's kind in words; undefined if there is nothing to say. */
export function kindOf({ kind, suspected, operator }: DomainDetails): string | undefined {
  switch (kind) {
    case "provider":
      return "email provider";
    case "relay":
      return operator == null
        ? "forwards to a real mailbox"
        : `forwards to a real mailbox (${operator.replaceAll("_", " ")})`;
    case "disposable":
      return "disposable address";
    case "parked":
      return "parked domain, whose mail server accepts everything";
    default:
      return suspected === "disposable" ? "mail server of a disposable email service" : undefined;
  }
}
