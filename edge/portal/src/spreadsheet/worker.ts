// Reads an Excel file in a worker, so that the page stays responsive: receives a file and returns
// the rows of one sheet.
import readSheets from "read-excel-file/universal";
import type { Answer } from "./protocol";
import { TooLarge } from "./unzip";

const ROWS = 100_000;

self.addEventListener("message", ({ data }: MessageEvent<File>) => {
  void answer(data).then((found) => self.postMessage(found));
});

async function answer(file: File): Promise<Answer> {
  try {
    const sheets = await readSheets(file);
    const filled = sheets.map(({ sheet, data }) => ({
      name: sheet,
      rows: data.map((row) => row.map(textOf)),
    }));
    // The first sheet is often a cover.
    const found = filled.find(({ rows }) => rows.some((row) => row.some((text) => text.includes("@"))));
    const { rows } = found ?? filled[0] ?? { rows: [] };
    const used = rows.filter((row) => row.some((text) => text.trim() !== ""));
    return used.length > ROWS ? { refused: "too-large" } : { rows: used };
  } catch (error) {
    return { refused: error instanceof TooLarge ? "too-large" : "spreadsheet" };
  }
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  return value instanceof Date ? value.toISOString().replace(/T00:00:00\.000Z$/, "") : String(value);
}
