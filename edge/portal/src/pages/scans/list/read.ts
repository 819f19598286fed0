// Reads a list in the browser: a file or a pasted text, as a table or one address per line. Reading sends no address.
import { isAddress, reduced } from "./format";
import { pause } from "./pause";
import { isRecipients, recipientsOf } from "./recipients";

/** Form of the file, so that its copy with verdicts opens in the same program. */
export interface Dialect {
  delimiter: string;
  newline: string;
  /** True if the file begins with a byte order mark, by which Excel recognises UTF-8. */
  bom: boolean;
  /** True if the source held its cells as text, so that in the copy none of them may become a formula. */
  literal: boolean;
}

/** A list that was read: its rows, and the column with the addresses. */
export interface List {
  name: string;
  /** Null if the first row isn't a heading. */
  header: string[] | null;
  rows: string[][];
  column: number;
  /** True if a repeated address is checked once. */
  once: boolean;
  dialect: Dialect;
}

/** The sent form of a list: an address for each position, and the rows of each position. */
export interface Sent {
  addresses: string[];
  /** The first row of each position. */
  rows: number[];
  /** The position of each row. */
  positions: number[];
}

/** Figures about a list before it is sent. */
export interface Figures {
  /** Rows that repeat an earlier row's address. */
  repeated: number;
  /** Number of malformed addresses to send. */
  malformed: number;
  sent: number;
}

/** Reason why a file can't be read; the texts are in `words.ts`. */
export type Unreadable = "empty" | "spreadsheet" | "too-large";

export class UnreadableList extends Error {
  constructor(readonly why: Unreadable) {
    super(why);
  }
}

/** Rows read to recognise a column. */
const LOOKED_AT = 200;
/** Bytes of a file read at a time, few enough to keep the page responsive. */
const CHUNK_BYTES = 128 * 1024;
const DECODED_BYTES = 1024 * 1024;
/** Rows processed between two pauses. */
const PAUSE_EVERY = 1_000;

export const PLAIN: Dialect = { delimiter: ",", newline: "\r\n", bom: false, literal: false };
const LITERAL: Dialect = { ...PLAIN, literal: true };

/** Reads a file: a spreadsheet, a table, or a short text file of recipients in the form that email programs copy. */
export async function readFile(file: File): Promise<List> {
  const start = new Uint8Array(await file.slice(0, 8).arrayBuffer());
  if (isZip(start) || isOldExcel(start)) {
    if (isOldExcel(start)) throw new UnreadableList("spreadsheet");
    const { readSpreadsheet } = await import("./spreadsheet");
    return listOf(file.name, await readSpreadsheet(file), { ...LITERAL, bom: true });
  }
  if (/\.txt$/i.test(file.name) && file.size < DECODED_BYTES) {
    const text = new TextDecoder((await encodingOf(file)).encoding).decode(await file.arrayBuffer());
    if (isRecipients(text)) return readText(text, file.name);
  }
  return readTable(file);
}

/** Reads a pasted text: a table with a header, recipients, or one address per line. */
export async function readText(text: string, name = "Pasted list"): Promise<List> {
  const table = await readTable(new File([text], name));
  table.dialect.literal = true;
  const isTable = table.header !== null && table.header.length > 1;
  return isTable || !isRecipients(text) ? table : listOf(name, await recipientsOf(text), LITERAL);
}

async function readTable(file: File): Promise<List> {
  const { default: Papa } = await import("papaparse");
  const { encoding, bom } = await encodingOf(file);
  const rows: string[][] = [];
  const dialect = { ...PLAIN, bom };
  await new Promise<void>((resolve, reject) => {
    Papa.parse<string[]>(file, {
      encoding,
      skipEmptyLines: "greedy",
      chunkSize: CHUNK_BYTES,
      chunk: ({ data, meta }) => {
        if (rows.length === 0) {
          dialect.delimiter = meta.delimiter;
          dialect.newline = meta.linebreak;
        }
        for (const row of data) rows.push(row);
      },
      complete: () => resolve(),
      error: reject,
    });
  });
  return listOf(file.name, rows, dialect);
}

const isZip = ([p, k, three, four]: Uint8Array) => p === 0x50 && k === 0x4b && three === 3 && four === 4;
/** Recognises the container format of `.xls`. */
const isOldExcel = ([a, b, c, d]: Uint8Array) => a === 0xd0 && b === 0xcf && c === 0x11 && d === 0xe0;

/**
 * Returns the encoding by the byte order mark; without a mark, UTF-8 or, if the text isn't UTF-8,
 * Excel's encoding in Western Europe.
 */
async function encodingOf(file: File): Promise<{ encoding: string; bom: boolean }> {
  const [a, b, c] = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  if (a === 0xef && b === 0xbb && c === 0xbf) return { encoding: "utf-8", bom: true };
  if (a === 0xff && b === 0xfe) return { encoding: "utf-16le", bom: true };
  if (a === 0xfe && b === 0xff) return { encoding: "utf-16be", bom: true };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    for (let from = 0; from < file.size; from += DECODED_BYTES)
      decoder.decode(await file.slice(from, from + DECODED_BYTES).arrayBuffer(), { stream: true });
    decoder.decode();
    return { encoding: "utf-8", bom: false };
  } catch {
    // The copy with verdicts is UTF-8, for which Excel needs a mark.
    return { encoding: "windows-1252", bom: true };
  }
}

function listOf(name: string, rows: string[][], dialect: Dialect): List {
  if (rows.length === 0) throw new UnreadableList("empty");
  const first = rows[0] ?? [];
  const counts = columnsOf(rows).map((column) => addressesIn(rows, column));
  const column = counts.reduce((best, count, at) => (count > (counts[best] ?? 0) ? at : best), 0);
  // A first cell with an @ is an address, perhaps a mistyped one, and not a heading.
  const headed = rows.length > 1 && (counts[column] ?? 0) > 0 && !(first[column] ?? "").includes("@");
  return {
    name,
    column,
    header: headed ? first : null,
    rows: headed ? rows.slice(1) : rows,
    once: false,
    dialect,
  };
}

/** Returns the columns with addresses, the likeliest first. */
export function likelyColumns({ rows, column }: List): number[] {
  const others = columnsOf(rows).filter((other) => other !== column && addressesIn(rows, other) > 0);
  return [column, ...others];
}

function columnsOf(rows: string[][]): number[] {
  const width = Math.max(0, ...rows.slice(0, LOOKED_AT).map((row) => row.length));
  return Array.from({ length: width }, (_, column) => column);
}

function addressesIn(rows: string[][], column: number): number {
  return rows.slice(0, LOOKED_AT).filter((row) => isAddress(row[column] ?? "")).length;
}

/** Returns the first non-empty cells of the address column. */
export function firstValues({ rows, column }: List, count: number): string[] {
  return rows
    .slice(0, LOOKED_AT)
    .flatMap((row) => row[column]?.trim() || [])
    .slice(0, count);
}

/** Returns the sent form of the list. */
export async function sentOf(list: List): Promise<Sent> {
  const sent: Sent = { addresses: [], rows: [], positions: [] };
  const known = new Map<string, number>();
  for (const [row, cells] of list.rows.entries()) {
    const address = (cells[list.column] ?? "").trim();
    const before = list.once ? known.get(identityOf(address)) : undefined;
    if (before === undefined) {
      known.set(identityOf(address), sent.addresses.length);
      sent.positions.push(sent.addresses.length);
      sent.rows.push(row);
      sent.addresses.push(address);
    } else sent.positions.push(before);
    if (row % PAUSE_EVERY === PAUSE_EVERY - 1) await pause();
  }
  return sent;
}

export async function figuresOf(list: List): Promise<Figures> {
  const known = new Set<string>();
  let malformed = 0;
  let valid = 0;
  for (const [row, cells] of list.rows.entries()) {
    const address = cells[list.column] ?? "";
    const identity = identityOf(address);
    const repeated = known.has(identity);
    known.add(identity);
    if (!(list.once && repeated)) {
      if (isAddress(address)) valid += 1;
      else malformed += 1;
    }
    if (row % PAUSE_EVERY === PAUSE_EVERY - 1) await pause();
  }
  return { repeated: list.rows.length - known.size, malformed, sent: valid + malformed };
}

/**
 * Returns the form in which repeated addresses are recognised: the domain's case doesn't matter,
 * but the local part's may.
 */
function identityOf(text: string): string {
  const address = reduced(text);
  const at = address.lastIndexOf("@");
  return at < 0 ? address : address.slice(0, at) + address.slice(at).toLowerCase();
}
