// The address that was probably meant, if a well-known domain is misspelt. The suggestion is only a hint and never
// stops anyone.
import { POPULAR_DOMAINS, run } from "@zootools/email-spell-checker";
import { trimmed } from "./addresses";

export function suggestionFor(typed: string): string | undefined {
  const email = trimmed(typed);
  const suggestion = run({ email, domains: POPULAR_DOMAINS, topLevelDomains: [] });
  if (suggestion === undefined || !POPULAR_DOMAINS.includes(suggestion.domain)) return undefined;
  // A country's own domain, such as yahoo.com.br, isn't a typing mistake.
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return domain.startsWith(`${suggestion.domain}.`) ? undefined : suggestion.full;
}
