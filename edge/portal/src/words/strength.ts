// Estimated strength of a password, as a hint; the service decides.
export interface Strength {
  /** From 0 (too short) to 4 (strong). */
  level: 0 | 1 | 2 | 3 | 4;
  text: string;
}

/** Least and greatest length in characters, as the service counts them. */
export const SHORTEST = 8;
export const LONGEST = 128;

export function strengthOf(password: string, email: string): Strength {
  const characters = [...password];
  if (characters.length === 0) return { level: 0, text: "" };
  const missing = SHORTEST - characters.length;
  if (missing > 0)
    return {
      level: 0,
      text: `Too short: ${missing} more ${missing === 1 ? "character" : "characters"} needed`,
    };
  if (characters.length > LONGEST) return { level: 0, text: `Too long: at most ${LONGEST} characters` };
  if (resembles(password, email)) return { level: 1, text: "Weak: it is too close to your email address" };
  const bits = guessBits(characters);
  if (bits < 36) return { level: 1, text: "Weak: easy to guess. Add a word or two" };
  if (bits < 52) return { level: 2, text: "Fair: one more word would make it strong" };
  if (bits < 70) return { level: 3, text: "Good" };
  return { level: 4, text: "Strong" };
}

/**
 * Returns a rough upper bound: the bits of the used alphabet for each character that neither repeats
 * nor continues its predecessor (`aaa`, `abc`, `321`).
 */
function guessBits(characters: string[]): number {
  const text = characters.join("");
  const alphabets: [RegExp, number][] = [
    [/[a-z]/, 26],
    [/[A-Z]/, 26],
    [/[0-9]/, 10],
    [/[^a-zA-Z0-9]/, 33],
  ];
  const alphabet = alphabets.reduce((sum, [pattern, size]) => sum + (pattern.test(text) ? size : 0), 0);
  const surprising = characters.filter((character, at) => {
    const step = at === 0 ? NaN : character.codePointAt(0)! - characters[at - 1]!.codePointAt(0)!;
    return !(Math.abs(step) <= 1);
  });
  const distinct = new Set(surprising).size;
  return Math.min(surprising.length, distinct * 2) * Math.log2(Math.max(alphabet, 2)) * 0.72;
}

function resembles(password: string, email: string): boolean {
  const core = (text: string) =>
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, "")
      .replace(/^\d+|\d+$/g, "");
  const given = core(password);
  return email
    .split("@")
    .concat(email)
    .map(core)
    .some((part) => part.length > 2 && part === given);
}
