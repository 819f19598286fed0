// What the operator reads and answers.
import { createInterface } from "node:readline/promises";

/** An error that the operator can read, with the exit code. */
export class Refusal extends Error {
  constructor(message, code = 2) {
    super(message);
    this.code = code;
  }
}

/** What is to be read before an answer, so that the output stays for other programs. */
export const say = (line) => process.stderr.write(`${line}\n`);

/** Asks a question, and returns whether the line that was typed is the expected one. */
export async function asks(question, expected = "y") {
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin });
  const answer = await new Promise((resolve) => {
    lines.once("line", resolve);
    lines.once("close", () => resolve(""));
  });
  lines.close();
  return answer.trim().toLowerCase() === expected.toLowerCase();
}

/** Strangers choose addresses and names: marks that a terminal obeys are shown by their number. */
export const shown = (value) =>
  String(value === "" ? "-" : (value ?? "-")).replace(/\p{C}/gu, (mark) => `\\u{${mark.codePointAt(0).toString(16)}}`);

export function table(rows) {
  const names = Object.keys(rows[0] ?? {});
  const lines = [names, ...rows.map((row) => names.map((name) => shown(row[name])))];
  const widths = names.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)));
  for (const cells of lines) {
    process.stdout.write(`${cells.map((cell, column) => cell.padEnd(widths[column])).join("  ").trimEnd()}\n`);
  }
}
