// Checks if a text is an email address or a domain. The rules are the service's (shared/src/address.rs), so that a
// list's preview and its results have the same counts.
import { trimmed } from "../../../words/addresses";

const LOCAL_PART_BYTES = 64;
const ADDRESS_BYTES = 254;
const NAME_BYTES = 253;
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;

/** Non-ASCII characters except controls and line separators. */
const BEYOND = "\\u{a0}-\\u{2027}\\u{202a}-\\u{10ffff}";
const ATOM = new RegExp(`^[A-Za-z0-9!#$%&'*+\\-/=?^_\`{|}~${BEYOND}]+$`, "u");
const QUOTED = new RegExp(`^"(?:\\\\[ -~]|[ !#-\\[\\]-~${BEYOND}])*"$`, "u");

const utf8 = new TextEncoder();
const bytes = (text: string) => utf8.encode(text).length;

/** Returns the address in a text like `Ann <ann@example.org>`, otherwise the trimmed text. */
export function reduced(text: string): string {
  const whole = trimmed(text);
  const bracketed = /^(?:"(?:\\.|[^"\\])*"|[^"<>])*<([^<>]*)>$/.exec(whole);
  return bracketed === null ? whole : trimmed(bracketed[1] ?? "");
}

export function isAddress(text: string): boolean {
  const address = reduced(text);
  const at = address.lastIndexOf("@");
  if (at < 1) return false;
  const local = address.slice(0, at);
  const domain = asciiDomain(address.slice(at + 1));
  if (domain === undefined || bytes(local) > LOCAL_PART_BYTES) return false;
  if (bytes(local) + 1 + domain.length > ADDRESS_BYTES) return false;
  return local.startsWith('"') ? QUOTED.test(local) : local.split(".").every((atom) => ATOM.test(atom));
}

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
