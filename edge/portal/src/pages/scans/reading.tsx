// How a list is read: its column, and what a person may choose instead.
import page from "../scans.module.css";
import css from "./new-scan.module.css";
import type { Choices, List } from "./list/read";

interface ReadingProps {
  list: List;
  onColumn: (column: number) => void;
  onChoices: (choices: Choices) => void;
}

const DELIMITERS: readonly [number, string][] = [
  [44, "Comma"],
  [59, "Semicolon"],
  [9, "Tab"],
  [124, "Bar"],
];

export function Reading({ list, onColumn, onChoices }: ReadingProps) {
  const isWorkbook = list.sheets.length > 0;
  // A file of plain letters reads the same in every encoding.
  const hasLetters = list.words.length > 0;
  return (
    <div class={css.reading}>
      {list.sheets.length > 1 && (
        <Choice label="Sheet" value={list.sheet} onValue={(sheet) => onChoices({ sheet })}>
          {list.sheets.map((name, at) => [at, name])}
        </Choice>
      )}
      {(list.hasHeadings || list.columns.length > 1) && (
        <Choice label="Column with the addresses" value={list.column} onValue={onColumn}>
          {list.columns.map((name, at) => [at, nameOf(list, name, at)])}
        </Choice>
      )}
      {list.values.length > 0 && (
        <p class={css.values}>
          Begins with{" "}
          {list.values.map((value, at) => (
            <>
              {at > 0 && ", "}
              <span class="address">{value}</span>
            </>
          ))}
        </p>
      )}
      {hasLetters && (
        <p class={css.values}>
          Its letters are read like this: <strong>{list.words.join(", ")}</strong>
          {list.isGuess &&
            ". If they look wrong, choose another encoding. The copy keeps your letters anyway."}
        </p>
      )}
      {!isWorkbook && (hasLetters || list.columns.length > 1 || list.figures.addresses === 0) && (
        <details class={css.other}>
          <summary>Read the file in another way</summary>
          <Choice label="Encoding" value={list.encoding} onValue={(encoding) => onChoices({ encoding })}>
            {list.encodings.map((name) => [name, name])}
          </Choice>
          <Choice label="Delimiter" value={list.delimiter} onValue={(delimiter) => onChoices({ delimiter })}>
            {DELIMITERS}
          </Choice>
        </details>
      )}
    </div>
  );
}

interface ChoiceProps<Value extends string | number> {
  label: string;
  value: Value;
  onValue: (value: Value) => void;
  children: readonly (readonly [Value, string])[];
}

function Choice<Value extends string | number>({ label, value, onValue, children }: ChoiceProps<Value>) {
  return (
    <label class={page.choice}>
      {label}
      <select
        value={value}
        onChange={(event) => {
          const chosen = children.find(([of]) => String(of) === event.currentTarget.value);
          if (chosen !== undefined) onValue(chosen[0]);
        }}
      >
        {children.map(([of, name]) => (
          <option value={of}>{name}</option>
        ))}
      </select>
    </label>
  );
}

/** Columns with the same heading also have their numbers. */
function nameOf({ columns, hasHeadings, column, values }: List, name: string, at: number): string {
  const isRepeated = columns.filter((other) => other === name).length > 1;
  if (hasHeadings) return isRepeated ? `${name} (column ${at + 1})` : name;
  return at === column && values.length > 0 ? `Column ${at + 1}: ${values[0]}` : `Column ${at + 1}`;
}
