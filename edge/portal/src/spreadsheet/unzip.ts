// Replaces `fflate` in `read-excel-file`: this module starts no workers, which the policy forbids,
// and limits the unpacked size, whatever the archive claims.
import { type UnzipFileFilter, type Unzipped, unzipSync } from "fflate";

export { strFromU8 } from "fflate";

const UNPACKED_BYTES = 50 * 1024 * 1024;

export class TooLarge extends Error {}

type Done = (error: Error | null, files: Unzipped) => void;

export function unzip(archive: Uint8Array, done: Done): void {
  try {
    done(null, bounded(archive));
  } catch (error) {
    done(error instanceof Error ? error : new Error("unreadable"), {});
  }
}

/**
 * Unpacks an archive. Memory is reserved for the sizes that it declares; a file longer than
 * declared is rejected.
 */
function bounded(archive: Uint8Array): Unzipped {
  let unpacked = 0;
  const filter: UnzipFileFilter = ({ name, originalSize }) => {
    if (!/\.(xml|rels)$/.test(name)) return false;
    unpacked += originalSize;
    if (unpacked > UNPACKED_BYTES) throw new TooLarge();
    return true;
  };
  return unzipSync(archive, { filter });
}
