// Types of the modules that wasm-bindgen writes: `clients/lists/src/wasm.rs` and `clients/workbooks/src/wasm.rs`
// explain them.

declare module "rcpt-lists" {
  export default function init(from: { module_or_path: string }): Promise<unknown>;
  export class ReadList {
    private constructor();
    free(): void;
    choose(column: number): void;
    readonly column: number | undefined;
    readonly columns: string[];
    readonly otherColumns: Uint32Array;
    readonly hasHeadings: boolean;
    readonly delimiter: number;
    readonly encoding: string;
    readonly words: string[];
    readonly isGuess: boolean;
    readonly sheets: string[];
    readonly sheet: number;
    readonly notices: string[];
    values(count: number): string[];
    plan(once: boolean, caseMatters: boolean): Uint32Array;
    tags(scan: string, caseMatters: boolean): Uint8Array<ArrayBuffer>;
    join(scan: string, tags: Uint8Array, caseMatters: boolean): Uint32Array;
    addresses(): string[];
    numbers(): Uint32Array;
    problems(count: number): string[];
    meant(codes: Uint32Array, reasons: string[]): string[];
    copy(
      codes: Uint32Array,
      reasons: string[],
      only: number,
      withoutTraits: boolean,
      split: boolean,
    ): Uint8Array<ArrayBuffer>;
    sheetCopy(
      codes: Uint32Array,
      reasons: string[],
      only: number,
      withoutTraits: boolean,
      split: boolean,
    ): CopiedSheet;
  }
  export interface CopiedSheet {
    readonly columns: Uint32Array;
    readonly address: number;
    readonly numbers: Uint32Array;
    readonly values: string[];
    readonly alone: string[];
    readonly dropped: Uint32Array;
    free(): void;
  }
  export function readList(
    bytes: Uint8Array,
    pasted: boolean,
    encoding?: string,
    delimiter?: number,
    column?: number,
  ): ReadList;
  export function readSheet(
    csv: string,
    sheets: string[],
    sheet: number,
    others: Uint32Array,
    numbers: Uint32Array,
    column?: number,
  ): ReadList;
  export function unreadable(word: string): string;
  export function encodings(): string[];
}

declare module "rcpt-workbooks" {
  export default function init(from: { module_or_path: string }): Promise<unknown>;
  export interface ReadSheet {
    readonly sheets: string[];
    readonly sheet: number;
    readonly others: Uint32Array;
    readonly text: string;
    readonly numbers: Uint32Array;
    free(): void;
  }
  export function readSheet(bytes: Uint8Array, sheet?: number): ReadSheet;
  export function isXlsx(bytes: Uint8Array): boolean;
  export function copySheet(
    bytes: Uint8Array,
    sheet: number,
    columns: Uint32Array,
    address: number,
    numbers: Uint32Array,
    values: string[],
    alone: string[],
    dropped: Uint32Array,
  ): Uint8Array<ArrayBuffer>;
}
