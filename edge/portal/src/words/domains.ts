// Checks if a text is a domain, by the rules of the service (shared/src/address/domain.rs).

const NAME_BYTES = 253;
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** Returns whether a text is a domain for the lists of the sign-up guard. */
export function isDomain(text: string): boolean {
  return asciiDomain(text.replace(/\.$/, ""))?.includes(".") ?? false;
}

/** Returns the host name as A-labels in lower case; undefined if the text isn't a host name. */
function asciiDomain(domain: string): string | undefined {
  if (/[\0-,/:-@[-`{-\x7f]/.test(domain)) return undefined;
  const plain = domain.toLowerCase();
  // eslint-disable-next-line no-control-regex
  const ascii = /^[\0-\x7f]*$/.test(plain) && !/(^|\.)xn--/.test(plain) ? plain : encoded(plain);
  if (ascii === undefined || ascii.length > NAME_BYTES) return undefined;
  const labels = ascii.split(".");
  return labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "") ? ascii : undefined;
}

function encoded(domain: string): string | undefined {
  try {
    // The label at the end keeps a name ending in digits from being parsed as an IPv4 address.
    return new URL(`https://${domain}.a`).hostname.slice(0, -2);
  } catch {
    return undefined;
  }
}
