// Messages between a page and the worker that reads its list.

/** How a file is read; what is absent is found. */
export interface Choices {
  encoding?: string;
  /** The character's code. */
  delimiter?: number;
  /** Index of a workbook's sheet. */
  sheet?: number;
}

/** Which checks a list becomes. */
export interface Form {
  /** Index of the column; absent if it is to be found. */
  column?: number;
  /** True if a repeated address is checked once. */
  once: boolean;
  /** True if upper and lower case before the @ are different mailboxes. */
  caseMatters: boolean;
  /** The scan that the list is joined with, wherever its rows stand now. */
  join?: Tags | undefined;
}

/** The tags of a scan, by which a list is joined with it. */
export interface Tags {
  scan: string;
  tags: Uint8Array<ArrayBuffer>;
}

/** A row that can't be read as an address. */
export interface Unread {
  row: number;
  problem: string;
  suggestion: string;
}

export interface Figures {
  rows: number;
  /** Addresses to check. */
  addresses: number;
  repeated: number;
  notAnAddress: number;
  /** Rows without an address. */
  empty: number;
  /** Rows with several addresses in their cell. */
  several: number;
  /** Rows with an address that the joined scan doesn't have. */
  notInScan: number;
}

/** What the page shows about a list. */
export interface Summary {
  columns: string[];
  /** Null if no column has an address. */
  column: number | null;
  otherColumns: number[];
  hasHeadings: boolean;
  delimiter: number;
  encoding: string;
  /** Encodings that can be chosen. */
  encodings: string[];
  /** Words of the file with letters beyond ASCII. */
  words: string[];
  isGuess: boolean;
  sheets: string[];
  /** True if its copy is an xlsx again. */
  isXlsx: boolean;
  sheet: number;
  notices: string[];
  /** First filled cells of the column. */
  values: string[];
  figures: Figures;
  /** The first rows that can't be read. */
  unread: Unread[];
}

/** The addresses by position, and the number of each one's first row in the file; "" and 0 if it isn't in the file. */
export interface Sent {
  addresses: string[];
  rows: number[];
}

/** The verdicts of a copy, as `clients/lists/src/wasm.rs` reads them. */
export interface Verdicts {
  codes: Uint32Array;
  reasons: string[];
  /** A set of the verdicts' bits; 0 means all rows. */
  only: number;
  withoutTraits: boolean;
  /** True if a row with several addresses becomes a row for each. */
  split: boolean;
}

export type Request =
  | { do: "open"; file: Blob; pasted: boolean; choices: Choices; form: Form }
  | { do: "sent"; form: Form }
  | { do: "tags"; form: Form; scan: string }
  | { do: "meant"; form: Form; verdicts: Pick<Verdicts, "codes" | "reasons"> }
  | { do: "copy"; form: Form; verdicts: Verdicts };

export type Reply =
  | { summary: Summary }
  | { sent: Sent }
  | { tags: Uint8Array<ArrayBuffer> }
  | { meant: string[] }
  | { copy: Uint8Array<ArrayBuffer> }
  | { refused: string };
