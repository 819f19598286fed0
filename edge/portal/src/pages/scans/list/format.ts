// Checks if a text is an email address or a domain. The rules are the service's (shared/src/reading.rs), so that a
// list's preview and its results have the same counts.
import { BLANK, INVISIBLE, trimmed } from "../../../words/addresses";

const LOCAL_PART_BYTES = 64;
const ADDRESS_BYTES = 254;
const NAME_BYTES = 253;
/** An A-label whose encoded part has its only hyphen at the beginning is none, but some browsers read it. */
const LABEL = /^(?!-|xn---[a-z0-9]*$)[a-z0-9-]{1,63}(?<!-)$/;

/** A non-ASCII character with a meaning: no control, no blank, none for private use or for a lost character. */
const BEYOND = `(?![\\p{Cc}\\p{Co}\\p{Noncharacter_Code_Point}\\u{fffd}${BLANK}])[\\u{80}-\\u{10ffff}]`;
const ATOM = new RegExp(`^(?:[A-Za-z0-9!#$%&'*+\\-/=?^_\`{|}~]|${BEYOND})+$`, "u");
const QUOTED = new RegExp(`^"(?:\\\\[ -~]|[ !#-\\[\\]-~]|${BEYOND})*"$`, "u");
/** A mark that is drawn on the letter before it. */
const LEADING_MARK = /^"?[\p{Mn}\p{Me}]/u;
const ANY_INVISIBLE = new RegExp(`[${INVISIBLE}]`, "u");
const LINE_BREAK = /[\n\r\v\f\u0085\u2028\u2029]/;
/** `Name <address>`: quotes hold brackets, unless they aren't closed. */
const NAMED = /^((?:"(?:\\.|[^"\\])*"|"(?=[^"]*$)|[^"<>])*)<([^<>]*)>$/su;

const utf8 = new TextEncoder();
const bytes = (text: string) => utf8.encode(text).length;

/** Returns the address in a text like `Ann <ann@example.org>`, otherwise the trimmed text. */
export function reduced(text: string): string {
  const whole = trimmed(text);
  const [, name, bracketed] = NAMED.exec(whole) ?? [];
  if (name === undefined || bracketed === undefined) return whole;
  const address = trimmed(bracketed);
  return LINE_BREAK.test(trimmed(name)) || hasOther(trimmed(name), address) ? whole : address;
}

/** Returns whether a name holds another address than the one behind it. In quotes, it may hold anything. */
function hasOther(name: string, address: string): boolean {
  if (/^"[^"]*"$/.test(name)) return false;
  const words = name.split(/\s/).map((word) => word.replace(/^[,;:.'"([]+|[,;:.'")\]?!]+$/g, ""));
  return words.some(
    (word) => /@.*\./.test(word) && isAddress(word) && word.toLowerCase() !== address.toLowerCase(),
  );
}

export function isAddress(text: string): boolean {
  const address = reduced(text);
  const at = address.lastIndexOf("@");
  if (at < 1) return false;
  const local = address.slice(0, at);
  const domain = asciiDomain(address.slice(at + 1));
  if (domain === undefined || bytes(local) > LOCAL_PART_BYTES) return false;
  if (bytes(local) + 1 + domain.length > ADDRESS_BYTES) return false;
  if (LEADING_MARK.test(local) || hasHidden(local) || hasHidden(address.slice(at + 1))) return false;
  return local.startsWith('"') ? QUOTED.test(local) : local.split(".").every((atom) => ATOM.test(atom));
}

/**
 * Returns whether an invisible character isn't in its place: a joiner where a domain may have it, or a variation
 * selector after a character with variants (shared/src/address/marks.rs).
 */
function hasHidden(text: string): boolean {
  if (!ANY_INVISIBLE.test(text)) return false;
  // eslint-disable-next-line no-control-regex
  const runs = text.match(/[\0-\x7f]+|[^\0-\x7f]+/gu) ?? [];
  let before = "";
  return runs.some((run) => {
    const joins = /[\u200c\u200d]/.test(run) && asciiDomain(run) !== undefined;
    return [...run].some((c, at, all) => {
      const chosen = (hasVariants(before) && !ANY_INVISIBLE.test(before)) || all[at + 1] === "\u20e3";
      before = c;
      if (!ANY_INVISIBLE.test(c)) return false;
      if (/[\u200c\u200d]/.test(c)) return !joins;
      return !(chosen && /\p{Variation_Selector}/u.test(c));
    });
  });
}

const hasVariants = (c: string) => /[©®\u{1000}-\u{10ffff}]/u.test(c);

/** Returns whether a text is a domain for the lists of the sign-up guard. */
export function isDomain(text: string): boolean {
  const domain = trimmed(text).replace(/[.。．｡]$/u, "");
  return !hasHidden(domain) && (asciiDomain(domain)?.includes(".") ?? false);
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
