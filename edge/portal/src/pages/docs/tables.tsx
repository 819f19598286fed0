// The meaning of each value of a verdict and each code of an error. The API description lists the values and codes.
import type { ComponentChildren } from "preact";
import { ERROR_CODES } from "../../words/error-codes";
import { REASONS, STATUSES } from "../../words/verdicts";
import { type Document, resolve, valuesOf } from "./document";
import { Fold } from "./fold";
import { Inline } from "./inline";
import css from "./tables.module.css";

export function Statuses() {
  return (
    <Table id="statuses" title="Statuses" columns={["status", "Verdict, and what to do", "Counted"]}>
      {STATUSES.map(({ status, verdict, means, todo, counted }) => (
        <tr>
          <th scope="row">
            <code>{JSON.stringify(status)}</code>
          </th>
          <td>
            <strong>{sentence(verdict)}</strong> {means} <Inline text={todo} />
          </td>
          <td>{counted ? "yes" : "no"}</td>
        </tr>
      ))}
    </Table>
  );
}

const sentence = (words: string) => `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;

interface LongTableProps {
  document: Document;
  /** True if the table starts unfolded. */
  open: boolean;
}

export function Reasons({ document, open }: LongTableProps) {
  return (
    <LongTable id="reasons" title="Reasons" columns={["details.reason", "Means"]} open={open}>
      <Rows names={namesOf(document, "Details", "reason")} meanings={REASONS} />
    </LongTable>
  );
}

export function ErrorCodes({ document, open }: LongTableProps) {
  const codes = ["PlainError", "LimitError"].flatMap((schema) => namesOf(document, schema, "code"));
  return (
    <LongTable id="error-codes" title="Error codes" columns={["code", "Means"]} open={open}>
      <Rows names={[...new Set(codes)]} meanings={ERROR_CODES} anchor="code" />
    </LongTable>
  );
}

/** Returns the values that the API description lists for a field. */
function namesOf(document: Document, schema: string, field: string): string[] {
  const { properties } = resolve(document, { $ref: schema });
  const member = properties?.[field];
  const values = member === undefined ? [] : valuesOf(resolve(document, member));
  return (values ?? []).map(String);
}

interface RowsProps {
  names: string[];
  meanings: Readonly<Record<string, string>>;
  /** If set, each row has an id for links. */
  anchor?: string;
}

function Rows({ names, meanings, anchor }: RowsProps) {
  return (
    <>
      {names.map((name) => (
        <tr id={anchor && `${anchor}-${name}`}>
          <th scope="row">
            <code>{name}</code>
          </th>
          <td>{meanings[name]}</td>
        </tr>
      ))}
    </>
  );
}

interface TableProps {
  id: string;
  title: string;
  columns: string[];
  children: ComponentChildren;
}

function Table({ id, title, columns, children }: TableProps) {
  return (
    <section class={css.section} aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <Grid columns={columns}>{children}</Grid>
    </section>
  );
}

/** A table that can be folded, because on a phone it fills several screens. */
function LongTable({ id, title, columns, open, children }: TableProps & { open: boolean }) {
  return (
    <section class={css.section} aria-labelledby={id}>
      <Fold id={`${id}-list`} part="table" title={<h3 id={id}>{title}</h3>} open={open}>
        <Grid columns={columns}>{children}</Grid>
      </Fold>
    </section>
  );
}

function Grid({ columns, children }: Pick<TableProps, "columns" | "children">) {
  return (
    <table class={css.table}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col">{column}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
