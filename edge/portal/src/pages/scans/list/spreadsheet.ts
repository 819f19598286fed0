// Reads the rows of an Excel file in a temporary worker.
import type { Answer } from "../../../spreadsheet/protocol";
import { trustedScript } from "../../../trusted-script";
import { UnreadableList } from "./read";

/** Greatest size of the packed file; the worker limits the unpacked size. */
const FILE_BYTES = 50 * 1024 * 1024;
const PATIENCE_MS = 60_000;

export async function readSpreadsheet(file: File): Promise<string[][]> {
  if (file.size > FILE_BYTES) throw new UnreadableList("too-large");
  const worker = new Worker(trustedScript("rcpt-worker", SPREADSHEET_WORKER) as string);
  try {
    const answer = await new Promise<Answer>((resolve) => {
      worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => resolve(data));
      worker.addEventListener("error", () => resolve({ refused: "spreadsheet" }));
      setTimeout(() => resolve({ refused: "too-large" }), PATIENCE_MS);
      worker.postMessage(file);
    });
    if ("refused" in answer) throw new UnreadableList(answer.refused);
    return answer.rows;
  } finally {
    worker.terminate();
  }
}
