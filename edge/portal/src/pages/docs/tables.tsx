// What each value of a verdict and each code of an error means. Which there are is read from the description.
import type { ComponentChildren } from "preact";
import { ERROR_CODES } from "../../words/error-codes";
import { REASONS, STAGES, STATUSES } from "../../words/verdicts";
import { type Document, resolve } from "./document";
import css from "./tables.module.css";

export function Statuses() {
  return (
    <Table id="statuses" title="Statuses" columns={["status", "Means", "Counted"]}>
      {STATUSES.map(({ status, means, counted }) => (
        <tr>
          <th scope="row">
            <code>{JSON.stringify(status)}</code>
          </th>
          <td>{means}</td>
          <td>{counted ? "yes" : "no"}</td>
        </tr>
      ))}
    </Table>
  );
}

export function Reasons({ document }: { document: Document }) {
  return (
    <Table id="reasons" title="Reasons" columns={["details.reason", "Means"]}>
      <Rows names={namesOf(document, "Details", "reason")} meanings={REASONS} />
    </Table>
  );
}

export function Stages({ document }: { document: Document }) {
  return (
    <Table id="stages" title="Stages" columns={["details.stage", "We were"]}>
      <Rows names={namesOf(document, "Details", "stage")} meanings={STAGES} />
    </Table>
  );
}

export function ErrorCodes({ document }: { document: Document }) {
  const codes = ["PlainError", "LimitError"].flatMap((schema) => namesOf(document, schema, "code"));
  return (
    <Table id="error-codes" title="Error codes" columns={["code", "Means"]}>
      <Rows names={[...new Set(codes)]} meanings={ERROR_CODES} />
    </Table>
  );
}

/** The values that the description lists for a field. */
function namesOf(document: Document, schema: string, field: string): string[] {
  const { properties } = resolve(document, { $ref: schema });
  const values = properties?.[field] === undefined ? [] : resolve(document, properties[field]).enum;
  return (values ?? []).map(String);
}

function Rows({ names, meanings }: { names: string[]; meanings: Readonly<Record<string, string>> }) {
  return (
    <>
      {names.map((name) => (
        <tr>
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
    </section>
  );
}
