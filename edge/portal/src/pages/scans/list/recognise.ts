// Joins a list that was chosen again with the verdicts of its scan: row by row in the browser that sent it; elsewhere
// only if the service says that it is the list that was scanned.
import { Problem } from "../../../api/problem";
import { PART, type Scan, matchPart } from "../../../api/scans";
import { recall } from "./kept";
import type { KnownList } from "./known";
import { type List, type Sent, likelyColumns, reformed, sentOf } from "./read";

/**
 * `other`: it has no address of the scan. `cut`: it lacks addresses that haven't been sent yet. `size`: it has another number of addresses. `differs`: a part has other
 * addresses, or another order. `unsure`: a part couldn't be compared.
 */
export type Refusal = "other" | "cut" | "size" | "differs" | "unsure";
export type Recognition = { known: KnownList } | { refused: Refusal };

/** The ways to check repeated addresses, the likeliest first. */
const REPEATS = [
  { once: true, caseMatters: false },
  { once: true, caseMatters: true },
  { once: false, caseMatters: false },
];

export async function recognise(scan: Scan, list: List): Promise<Recognition> {
  const kept = await recall(scan.id);
  if (kept !== undefined) {
    const { tags, caseMatters } = kept;
    let best: List | undefined;
    for (const column of likelyColumns(list)) {
      const joined = await reformed(list, { column, once: true, caseMatters, join: { scan: scan.id, tags } });
      if (joined.figures.addresses > (best?.figures.addresses ?? 0)) best = joined;
    }
    if (best === undefined) return { refused: "other" };
    const sent = await sentOf(best);
    const lacks = scan.state === "open" && sent.addresses.slice(scan.received).includes("");
    return lacks ? { refused: "cut" } : { known: { list: best, sent } };
  }
  let refused: Refusal = "size";
  let last: readonly string[] | undefined;
  for (const repeats of REPEATS) {
    const form = { ...list, ...repeats };
    const sent = await sentOf(form);
    if (sent.addresses.length !== scan.total || sameAs(sent.addresses, last)) continue;
    last = sent.addresses;
    const found = await matchesAll(scan, sent);
    if (found === true) return { known: { list: form, sent } };
    refused = found === false ? "differs" : "unsure";
  }
  return { refused };
}

/** Returns whether all parts that were sent match; undefined if a part can't be compared. */
async function matchesAll({ id, received }: Scan, { addresses }: Sent): Promise<boolean | undefined> {
  for (let part = 0; part * PART < received; part += 1) {
    const one = await ask(id, part, addresses.slice(part * PART, (part + 1) * PART));
    if (one !== true) return one;
  }
  return true;
}

async function ask(scan: string, part: number, addresses: string[]): Promise<boolean | undefined> {
  try {
    return await matchPart(scan, part, addresses);
  } catch (error) {
    // 409: nothing is stored for a part with a single address, or the part was compared too often.
    // 404: the scan or the operation doesn't exist. 429: too many requests.
    if (error instanceof Problem && error.cause.kind === "refused" && error.cause.status < 500)
      return undefined;
    throw error;
  }
}

function sameAs(one: readonly string[], other: readonly string[] | undefined): boolean {
  return one.length === other?.length && one.every((address, at) => address === other[at]);
}
