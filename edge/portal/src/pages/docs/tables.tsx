// What each value of a verdict means: statuses, reasons and stages.
import type { ComponentChildren } from "preact";
import { REASONS, STAGES, STATUSES } from "../../words/verdicts";
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

export function Reasons() {
  return (
    <Table id="reasons" title="Reasons" columns={["details.reason", "Means"]}>
      {Object.entries(REASONS).map(([reason, means]) => (
        <Row name={reason} means={means} />
      ))}
    </Table>
  );
}

export function Stages() {
  return (
    <Table id="stages" title="Stages" columns={["details.stage", "We were"]}>
      {Object.entries(STAGES).map(([stage, means]) => (
        <Row name={stage} means={means} />
      ))}
    </Table>
  );
}

function Row({ name, means }: { name: string; means: string }) {
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
      </th>
      <td>{means}</td>
    </tr>
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
