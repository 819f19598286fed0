// Choice of the column with the addresses, with its first values.
import page from "../scans.module.css";
import css from "./new-scan.module.css";
import { type List, firstValues } from "./list/read";

/** Values shown for each column. */
const VALUES = 3;

interface ColumnChoiceProps {
  list: List;
  onColumn: (column: number) => void;
}

export function ColumnChoice({ list, onColumn }: ColumnChoiceProps) {
  const width = Math.max(list.header?.length ?? 0, list.rows[0]?.length ?? 0);
  const values = firstValues(list, VALUES);
  return (
    <div>
      {(list.header !== null || width > 1) && (
        <label class={page.choice}>
          Column with the addresses
          <select value={list.column} onChange={(event) => onColumn(Number(event.currentTarget.value))}>
            {Array.from({ length: width }, (_, column) => (
              <option value={column}>{nameOf(list, column)}</option>
            ))}
          </select>
        </label>
      )}
      {values.length > 0 && (
        <p class={css.values}>
          Begins with{" "}
          {values.map((value, at) => (
            <>
              {at > 0 && ", "}
              <span class="address">{value}</span>
            </>
          ))}
        </p>
      )}
    </div>
  );
}

function nameOf({ header, rows }: List, column: number): string {
  return header?.[column]?.trim() || `Column ${column + 1}: ${rows[0]?.[column] ?? ""}`;
}
