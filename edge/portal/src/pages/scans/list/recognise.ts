// Compares a list that was chosen again with the scanned one. Only a matching list is joined with the verdicts.
import { Problem } from "../../../api/problem";
import { PART, type Scan, matchPart } from "../../../api/scans";
import { fingerprintOf, recall } from "./fingerprints";
import type { KnownList } from "./known";
import { type List, type Sent, likelyColumns, sentOf } from "./read";

/** `differs`: a part has other addresses, or another order. `unsure`: a part couldn't be compared. */
export type Recognition = { known: KnownList } | { refused: "size" | "differs" | "unsure" };

/** The ways to check repeated addresses, the likeliest first. */
const REPEATS = [
  { once: true, caseMatters: false },
  { once: true, caseMatters: true },
  { once: false, caseMatters: false },
];

/** Yields the forms in which the list may have been sent, the likeliest first. */
function* formsOf(list: List, columns: readonly number[]): Generator<List> {
  for (const column of columns) for (const repeats of REPEATS) yield { ...list, column, ...repeats };
}

export async function recognise(scan: Scan, list: List): Promise<Recognition> {
  const remembered = recall(scan.id)?.parts;
  const complete = remembered?.length === Math.ceil(scan.total / PART);
  // The service limits comparisons, so it gets only the likeliest column.
  const columns = complete ? likelyColumns(list) : [list.column];
  let refused: "size" | "differs" | "unsure" = "size";
  let last: readonly string[] | undefined;
  for (const form of formsOf(list, columns)) {
    const sent = await sentOf(form);
    if (sent.addresses.length !== scan.total || sameAs(sent.addresses, last)) continue;
    last = sent.addresses;
    const found = complete
      ? await matchesAll(sent, async (part, addresses) => {
          const fingerprint = await fingerprintOf(scan.id, addresses);
          return fingerprint === undefined ? undefined : fingerprint === remembered[part];
        })
      : await matchesAll(sent, (part, addresses) => ask(scan.id, part, addresses));
    if (found === true) return { known: { list: form, sent } };
    refused = found === false ? "differs" : "unsure";
  }
  return { refused };
}

/** Returns whether all parts match; undefined if a part can't be compared. */
async function matchesAll(
  { addresses }: Sent,
  matches: (part: number, addresses: string[]) => Promise<boolean | undefined>,
): Promise<boolean | undefined> {
  for (let part = 0; part * PART < addresses.length; part += 1) {
    const one = await matches(part, addresses.slice(part * PART, (part + 1) * PART));
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
