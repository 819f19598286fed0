// Where a list comes from: a file, chosen or dropped, or a pasted text.
import { useId, useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Notice } from "../../ui/notice";
import page from "../scans.module.css";
import css from "./list-source.module.css";
import { type List, readFile, readText } from "./read-list";

interface ListSourceProps {
  onList: (list: List) => void;
  /** Whether a list can be pasted too. */
  pastes?: boolean;
}

export function ListSource({ onList, pastes = true }: ListSourceProps) {
  const id = useId();
  const [text, setText] = useState("");
  const [reading, setReading] = useState(false);
  const [empty, setEmpty] = useState(false);
  const [over, setOver] = useState(false);

  async function read(source: Promise<List>) {
    setReading(true);
    setEmpty(false);
    try {
      const list = await source;
      if (list.rows.length === 0) setEmpty(true);
      else onList(list);
    } catch {
      setEmpty(true);
    } finally {
      setReading(false);
    }
  }

  return (
    <div class={page.source}>
      <div
        class={css.drop}
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer?.files[0];
          if (file !== undefined) void read(readFile(file));
        }}
      >
        <label for={`${id}-file`}>CSV or text file</label>
        <input
          id={`${id}-file`}
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) void read(readFile(file));
          }}
        />
        <p class="quiet">Choose a file or drop it here. It’s read in your browser.</p>
      </div>
      {pastes && (
        <div class={css.paste}>
          <label for={`${id}-text`}>Or paste addresses, one per line</label>
          <textarea
            id={`${id}-text`}
            rows={5}
            value={text}
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <Button busy={reading} busyLabel="Reading…" onClick={() => void read(readText(text))}>
            Read the list
          </Button>
        </div>
      )}
      {empty && (
        <Notice tone="bad">
          <p>There’s nothing to read in it. Choose a text file with one address per row.</p>
        </Notice>
      )}
    </div>
  );
}
