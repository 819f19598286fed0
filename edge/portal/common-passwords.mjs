// Builds the filter of the most common passwords, which the Worker reads
// (edge/src/credentials/common_passwords.rs).
import { createHash } from "node:crypto";

/**
 * Size of the filter: 30 bits for each of the 52,267 passwords. About one in 100,000 other texts is mistaken for one
 * of them.
 */
const BYTES = 196_608;

/**
 * Returns a Bloom filter of a text's lines. Each line sets eight bits, one for each 32-bit word
 * of its SHA-256.
 */
export function filterOf(text) {
  const filter = Buffer.alloc(BYTES);
  for (const line of text.trimEnd().split("\n")) {
    const digest = createHash("sha256").update(line).digest();
    for (let at = 0; at < digest.length; at += 4) {
      const place = digest.readUInt32BE(at) % (BYTES * 8);
      filter[place >> 3] |= 1 << (place & 7);
    }
  }
  return filter;
}
