// Source of a list: a file, chosen or dropped, or a pasted text.
import { useEffect, useId, useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Notice } from "../../ui/notice";
import page from "../scans.module.css";
import css from "./list-source.module.css";
import { keepTyped, typed } from "./list/known";
import { type List, UnreadableList, readFile, readText } from "./list/read";

interface ListSourceProps {
  onList: (list: List) => void | Promise<void>;
  /** True if a list can also be pasted. */
  pastes?: boolean;
}

export function ListSource({ onList, pastes = true }: ListSourceProps) {
  const id = useId();
  const [text, setText] = useState(typed);
  useEffect(() => keepTyped(text), [text]);
  const [reading, setReading] = useState(false);
  const [unreadable, setUnreadable] = useState<string>();
  const [over, setOver] = useState(false);

  async function read(source: Promise<List>) {
    setReading(true);
    setUnreadable(undefined);
    try {
      const list = await source;
      keepTyped("");
      setText("");
      await onList(list);
    } catch (error) {
      if (!(error instanceof UnreadableList)) throw error;
      setUnreadable(error.message);
    } finally {
      setReading(false);
    }
  }

  function chosen([file, ...others]: File[]) {
    if (others.length > 0) setUnreadable("Choose one file at a time. Each list is a scan of its own.");
    else if (file !== undefined) void read(readFile(file));
  }

  // Anywhere on the page: beside the box, the browser would open the file in the page's place.
  useEffect(() => {
    const drag = (event: DragEvent) => {
      event.preventDefault();
      setOver(event.type === "dragover");
    };
    const drop = (event: DragEvent) => {
      drag(event);
      chosen([...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = { dragover: drag, dragleave: drag, drop } as const;
    for (const [name, listener] of Object.entries(listeners))
      window.addEventListener(name as "drop", listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        window.removeEventListener(name as "drop", listener);
    };
  }, []);

  return (
    <div class={page.source}>
      <div class={css.drop} data-over={over}>
        <label for={`${id}-file`}>CSV, Excel or text file</label>
        <input
          id={`${id}-file`}
          type="file"
          accept=".csv,.tsv,.txt,.xlsx,.xls,.ods,text/csv,text/plain"
          onChange={(event) => {
            chosen([...(event.currentTarget.files ?? [])]);
            // Otherwise choosing the same file again would fire no event.
            event.currentTarget.value = "";
          }}
        />
        <p class="quiet" role="status">
          {reading ? "Reading the list…" : "Choose a file or drop it here. It’s read in your browser."}
        </p>
      </div>
      {pastes && (
        <div class={css.paste}>
          <label for={`${id}-text`}>Or paste addresses</label>
          <textarea
            id={`${id}-text`}
            rows={5}
            value={text}
            spellcheck={false}
            aria-describedby={`${id}-hint`}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="quiet" id={`${id}-hint`}>
            One per line, rows of a spreadsheet, or recipients copied from an email.
          </p>
          <Button busy={reading} busyLabel="Reading…" onClick={() => void read(readText(text))}>
            Read the list
          </Button>
        </div>
      )}
      {unreadable !== undefined && (
        <Notice tone="bad">
          <p>{unreadable}</p>
        </Notice>
      )}
    </div>
  );
}
