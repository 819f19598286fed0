// Typed email addresses: the form that is sent, and obvious mistakes.

/** Greatest lengths of a mailbox name and of an address (RFC 5321). */
const LONGEST_NAME = 64;
const LONGEST_ADDRESS = 254;

/** Blanks, and characters that nobody sees, as in shared/src/address/marks.rs. */
const AROUND = /^[\p{White_Space}\u2800\p{DI}\ufff9-\ufffc]+|[\p{White_Space}\u2800\p{DI}\ufff9-\ufffc]+$/gu;

/** Returns the address without blanks, line breaks and invisible characters around it, which result from copying. */
export function trimmed(address: string): string {
  return address.replace(AROUND, "");
}

/** Returns an obvious mistake in an account's address; the service decides. */
export function addressMistake(typed: string): string | undefined {
  const address = trimmed(typed);
  if (address === "") return "Enter your email address.";
  if (/[<>]/.test(address)) return "Enter the address alone, without a name or angle brackets.";
  return malformed(address);
}

/** Returns the mistake in an address to sign up with, which gets our emails. */
export function accountMistake(typed: string): string | undefined {
  const domain = trimmed(typed).split("@").at(-1) ?? "";
  return (
    addressMistake(typed) ??
    (domain.includes(".") ? undefined : "The part after the @ is incomplete. It ends with .com or the like.")
  );
}

/** Returns the mistake in an address to check, which may have a name before it, as in `Ann <ann@…>`. */
export function checkMistake(typed: string): string | undefined {
  const given = trimmed(typed);
  if (given === "") return "Enter the address to check.";
  if (/[\r\n,;]/.test(given) && (given.match(/@/g) ?? []).length > 1)
    return "Check one address at a time. This looks like several.";
  const bracketed = /<([^<>]*)>$/.exec(given)?.[1];
  return malformed(trimmed(bracketed ?? given));
}

function malformed(address: string): string | undefined {
  // A quoted name may contain anything, including another @.
  if (address.startsWith('"')) return undefined;
  const parts = address.split("@");
  if (parts.length === 1 && address.includes("＠")) return "This has a full-width ＠. Type @ instead.";
  if (parts.length === 1) return "This has no @. An email address looks like name@domain.com.";
  if (parts.length > 2) return "This has more than one @. An email address looks like name@domain.com.";
  const [name = "", domain = ""] = parts;
  if (name === "") return "There is nothing before the @.";
  if (domain === "") return "There is nothing after the @.";
  if (/[\p{White_Space}\u2800]/u.test(address)) return "An email address can’t have spaces in it.";
  if (address.length > LONGEST_ADDRESS)
    return `This address is too long: ${address.length} characters. The limit is ${LONGEST_ADDRESS}.`;
  if (name.length > LONGEST_NAME)
    return `The part before the @ is too long: ${name.length} characters. The limit is ${LONGEST_NAME}.`;
  if (name.startsWith(".") || name.endsWith(".") || name.includes(".."))
    return "The part before the @ can’t start or end with a dot, or have two in a row.";
  if (domain.startsWith(".") || domain.includes("..")) return "Remove the extra dot after the @.";
  return undefined;
}
