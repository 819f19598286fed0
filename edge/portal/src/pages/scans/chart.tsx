// A bar chart as a table, which screen readers can read without the bars.
import css from "./chart.module.css";

interface ChartProps {
  title: string;
  column: string;
  rows: readonly { name: string; count: number; tone: string }[];
}

const number = new Intl.NumberFormat("en");

export function Chart({ title, column, rows }: ChartProps) {
  const shown = rows.filter(({ count }) => count > 0);
  const most = Math.max(1, ...shown.map(({ count }) => count));
  return (
    <table class={css.chart}>
      <caption>{title}</caption>
      <thead>
        <tr>
          <th scope="col">{column}</th>
          <th scope="col">Addresses</th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ name, count, tone }) => (
          <tr>
            <th scope="row">{name}</th>
            <td>
              <span class={css.bar} data-tone={tone} aria-hidden="true">
                <span style={{ width: `${(count / most) * 100}%` }} />
              </span>
              {number.format(count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
