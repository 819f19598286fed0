// Reads one list in a worker of the page, so that the page stays responsive. The readers are Rust, compiled to wasm:
// this script alone may compile wasm (static/_headers). Nothing is sent anywhere.
import loadLists, { type ReadList, encodings, readList, readSheet, unreadable } from "rcpt-lists";
import loadWorkbooks, { copySheet, isXlsx, readSheet as readWorkbook } from "rcpt-workbooks";
import type { Form, Reply, Request, Sent, Summary } from "./protocol";

/** Greatest size of a file; of a workbook, packed. */
const FILE_BYTES = 300 * 1024 * 1024;
const WORKBOOK_BYTES = 50 * 1024 * 1024;
const VALUES = 3;
/** Rows without an address that are shown. */
const UNREAD = 50;

let list: ReadList | undefined;
/** The file, if it is a workbook that is written again. */
let book: Blob | undefined;
/** The form of the plan that the list has, and its counts. */
let planned: string | undefined;
let counts: Uint32Array = new Uint32Array();

self.addEventListener("message", ({ data }: MessageEvent<Request>) => {
  answer(data).then(
    (reply) => self.postMessage(reply, "copy" in reply ? { transfer: [reply.copy.buffer] } : {}),
    (error: unknown) =>
      self.postMessage({
        refused:
          typeof error === "string" ? error : "This list can’t be read here. Save it as CSV, then try again.",
      } satisfies Reply),
  );
});

async function answer(request: Request): Promise<Reply> {
  if (request.do === "open") return { summary: await open(request) };
  if (list === undefined) throw new Error("no list");
  plan(list, request.form);
  if (request.do === "sent") return { sent: sentOf(list) };
  if (request.do === "tags") return { tags: list.tags(request.scan, request.form.caseMatters) };
  if (request.do === "meant") return { meant: list.meant(request.verdicts.codes, request.verdicts.reasons) };
  const { codes, reasons, only, withoutTraits, split } = request.verdicts;
  if (book === undefined) return { copy: list.copy(codes, reasons, only, withoutTraits, split) };
  const copied = list.sheetCopy(codes, reasons, only, withoutTraits, split);
  const { columns, address, numbers, values, alone, dropped } = copied;
  copied.free();
  const bytes = new Uint8Array(await book.arrayBuffer());
  return { copy: copySheet(bytes, list.sheet, columns, address, numbers, values, alone, dropped) };
}

async function open({ file, pasted, choices, form }: Request & { do: "open" }): Promise<Summary> {
  if (file.size > FILE_BYTES) throw "This file is too large to read here. Split it, then choose a part.";
  await loadLists({ module_or_path: LISTS_WASM });
  const bytes = new Uint8Array(await file.arrayBuffer());
  list?.free();
  planned = undefined;
  book = undefined;
  list = isWorkbook(bytes)
    ? await sheetOf(bytes, choices.sheet, form.column)
    : readList(bytes, pasted, choices.encoding, choices.delimiter, form.column);
  if (list.sheets.length > 0 && isXlsx(bytes)) book = file;
  const [rows = 0, addresses = 0, repeated = 0, notAnAddress = 0, empty = 0, several = 0, notInScan = 0] =
    plan(list, form);
  return {
    columns: list.columns,
    column: list.column ?? null,
    otherColumns: [...list.otherColumns],
    hasHeadings: list.hasHeadings,
    delimiter: list.delimiter,
    encoding: list.encoding,
    encodings: encodings(),
    words: list.words,
    isGuess: list.isGuess,
    sheets: list.sheets,
    isXlsx: book !== undefined,
    sheet: list.sheet,
    notices: list.notices,
    values: list.values(VALUES),
    figures: { rows, addresses, repeated, notAnAddress, empty, several, notInScan },
    unread: unreadOf(list),
  };
}

const isWorkbook = ([a, b, c, d]: Uint8Array) =>
  (a === 0x50 && b === 0x4b && c === 3 && d === 4) || (a === 0xd0 && b === 0xcf && c === 0x11 && d === 0xe0);

async function sheetOf(bytes: Uint8Array, sheet?: number, column?: number): Promise<ReadList> {
  if (bytes.length > WORKBOOK_BYTES) throw unreadable("too-large");
  await loadWorkbooks({ module_or_path: WORKBOOKS_WASM });
  try {
    const read = readWorkbook(bytes, sheet);
    return readSheet(read.text, read.sheets, read.sheet, read.others, read.numbers, column);
  } catch (error) {
    // A sentence about the sheet, or a word about the workbook.
    if (typeof error === "string" && error.endsWith(".") && !error.includes("\n")) throw error;
    throw unreadable(typeof error === "string" ? error : "damaged");
  }
}

function plan(read: ReadList, form: Form): Uint32Array {
  const { column, once, caseMatters, join } = form;
  const wanted = JSON.stringify([column, once, caseMatters, join?.scan]);
  if (planned === wanted) return counts;
  if (column !== undefined && column !== read.column) read.choose(column);
  counts = join === undefined ? read.plan(once, caseMatters) : read.join(join.scan, join.tags, caseMatters);
  planned = wanted;
  return counts;
}

function sentOf(read: ReadList): Sent {
  return { addresses: read.addresses(), rows: [...read.numbers()] };
}

function unreadOf(read: ReadList) {
  const told = read.problems(UNREAD);
  return Array.from({ length: told.length / 3 }, (_, at) => {
    const [row, problem = "", suggestion = ""] = told.slice(3 * at, 3 * at + 3);
    return { row: Number(row), problem, suggestion };
  });
}
