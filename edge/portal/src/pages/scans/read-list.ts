// Reads a list in the browser: a file or a pasted text, as CSV or one address a line. Nothing of it is sent here.

/** A list as it was read: its rows, and which column has the addresses. */
export interface List {
  name: string;
  /** Null where the first row is an address already. */
  header: string[] | null;
  rows: string[][];
  column: number;
}

/** What a list is made of, before anything is sent. */
export interface Figures {
  total: number;
  duplicates: number;
  malformed: number;
}

/** Roughly what an address looks like; the service decides. */
const ADDRESS = /[^\s@<>"]+@[^\s@<>"]+\.[^\s@<>"]+/;
/** Rows by which a column is recognised. */
const LOOKED_AT = 200;
/** Small enough that no piece keeps the page from responding. */
const CHUNK_BYTES = 128 * 1024;
/** Rows after which the page may do something else. */
const PAUSE_EVERY = 5_000;

/** Reads a file piece by piece. */
export async function readFile(file: File): Promise<List> {
  const { default: Papa } = await import("papaparse");
  const rows: string[][] = [];
  await new Promise<void>((resolve, reject) => {
    Papa.parse<string[]>(file, {
      skipEmptyLines: "greedy",
      chunkSize: CHUNK_BYTES,
      chunk: ({ data }) => {
        for (const row of data) rows.push(row);
      },
      complete: () => resolve(),
      error: reject,
    });
  });
  return listOf(file.name, rows);
}

export async function readText(text: string): Promise<List> {
  return readFile(new File([text], "Pasted list"));
}

function listOf(name: string, rows: string[][]): List {
  const width = Math.max(0, ...rows.slice(0, LOOKED_AT).map((row) => row.length));
  const columns = Array.from({ length: width }, (_, column) => column);
  const found = (column: number) =>
    rows.slice(0, LOOKED_AT).filter((row) => ADDRESS.test(row[column] ?? "")).length;
  const column = columns.reduce((best, next) => (found(next) > found(best) ? next : best), 0);
  const first = rows[0];
  const headed = rows.length > 1 && first !== undefined && !ADDRESS.test(first[column] ?? "");
  return { name, column, header: headed ? first : null, rows: headed ? rows.slice(1) : rows };
}

/** The addresses, one for each row. */
export function addressesOf(list: List): string[] {
  return list.rows.map((row) => (row[list.column] ?? "").trim());
}

export async function figuresOf(list: List): Promise<Figures> {
  const seen = new Set<string>();
  let malformed = 0;
  for (const [at, address] of addressesOf(list).entries()) {
    if (!ADDRESS.test(address)) malformed += 1;
    seen.add(address.toLowerCase());
    if (at % PAUSE_EVERY === PAUSE_EVERY - 1) await pause();
  }
  return { total: list.rows.length, duplicates: list.rows.length - seen.size, malformed };
}

/** Lets the page respond. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
