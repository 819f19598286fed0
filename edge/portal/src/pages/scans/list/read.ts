// A list that was read in this browser: a file or a pasted text. Reading sends no address.
import type { Choices, Form, Reply, Request, Sent, Summary, Verdicts } from "../../../lists/protocol";
import { trustedScript } from "../../../trusted-script";

export type { Choices, Form, Sent, Verdicts } from "../../../lists/protocol";

/** A list, in the form in which it is checked. */
export interface List extends Summary, Form {
  name: string;
  column: number;
  choices: Choices;
  source: Source;
}

/** Why a file can't be read, as a sentence. */
export class UnreadableList extends Error {}

/** Longer than any list takes; a file made to be slow takes no more of the browser than this. */
const PATIENCE_MS = 60_000;
const SLOW = "This list takes too long to read here. Save it as CSV, then choose that file.";

/** A file, and the worker that reads it. */
export class Source {
  readonly file: Blob;
  readonly pasted: boolean;
  #worker: Worker | undefined;
  /** The question that the list was opened with. */
  #opened: Request | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(file: Blob, pasted: boolean) {
    this.file = file;
    this.pasted = pasted;
  }

  /** Asks the worker, one question after the other. */
  ask(request: Request): Promise<Reply> {
    const answer = this.#last.then(async () => {
      if (request.do === "open") {
        const reply = await this.#answer(request);
        this.#opened = request;
        return reply;
      }
      if (this.#worker === undefined && this.#opened !== undefined) await this.#answer(this.#opened);
      return this.#answer(request);
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Ends the worker. A further question starts another one, which opens the file again. */
  close(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #answer(request: Request): Promise<Reply> {
    const worker = (this.#worker ??= new Worker(trustedScript("rcpt-worker", LISTS_WORKER) as string));
    let timer = 0;
    const reply = await new Promise<Reply>((resolve) => {
      worker.onmessage = ({ data }: MessageEvent<Reply>) => resolve(data);
      worker.onerror = () => resolve({ refused: SLOW });
      timer = window.setTimeout(() => resolve({ refused: SLOW }), PATIENCE_MS);
      worker.postMessage(request);
    });
    window.clearTimeout(timer);
    if (!("refused" in reply)) return reply;
    this.close();
    throw new UnreadableList(reply.refused);
  }
}

const FOUND: Form = { once: true, caseMatters: false };

/** Reads a file: a table, a workbook, or a short text file of recipients in the form that email programs copy. */
export function readFile(file: File, choices: Choices = {}): Promise<List> {
  return open(file.name, new Source(file, /\.txt$/i.test(file.name)), choices, FOUND);
}

/** Reads a pasted text: a table with a header, recipients, or one address per line. */
export function readText(text: string): Promise<List> {
  return open("Pasted list", new Source(new Blob([text]), true), {}, FOUND);
}

/** Reads the list in another way. */
export function reread(list: List, choices: Choices): Promise<List> {
  const { name, source, once, caseMatters } = list;
  return open(name, source, { ...list.choices, ...choices }, { once, caseMatters });
}

/** Returns the list with another column, or with repeats in another way. */
export function reformed(list: List, form: Partial<Form>): Promise<List> {
  const { name, source, choices } = list;
  return open(name, source, choices, { ...formOf(list), ...form });
}

async function open(name: string, source: Source, choices: Choices, form: Form): Promise<List> {
  const { file, pasted } = source;
  const reply = await source.ask({ do: "open", file, pasted, choices, form });
  if (!("summary" in reply)) throw new UnreadableList(SLOW);
  const { summary } = reply;
  return { ...summary, ...form, name, choices, source, column: form.column ?? summary.column ?? 0 };
}

/** Returns the columns with addresses, the likeliest first. */
export const likelyColumns = ({ column, otherColumns }: List): number[] => [column, ...otherColumns];

/** Returns the sent form of the list. */
export async function sentOf(list: List): Promise<Sent> {
  const reply = await list.source.ask({ do: "sent", form: formOf(list) });
  return "sent" in reply ? reply.sent : { addresses: [], rows: [] };
}

/** Returns the tags by which the list is joined with its scan later. */
export async function tagsOf(list: List, scan: string): Promise<Uint8Array<ArrayBuffer>> {
  const reply = await list.source.ask({ do: "tags", form: formOf(list), scan });
  return "tags" in reply ? reply.tags : new Uint8Array();
}

/** Returns the addresses that were probably meant, by position; empty where none was. */
export async function meantBy(list: List, verdicts: Pick<Verdicts, "codes" | "reasons">): Promise<string[]> {
  const reply = await list.source.ask({ do: "meant", form: formOf(list), verdicts });
  return "meant" in reply ? reply.meant : [];
}

/** Returns the file with our columns. */
export async function copyOf(list: List, verdicts: Verdicts): Promise<Uint8Array<ArrayBuffer>> {
  const reply = await list.source.ask({ do: "copy", form: formOf(list), verdicts });
  return "copy" in reply ? reply.copy : new Uint8Array();
}

function formOf({ column, once, caseMatters, join }: List): Form {
  return { column, once, caseMatters, join };
}
