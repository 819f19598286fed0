// The list of what was checked in this tab.
import { Card } from "../../ui/card";
import { explain } from "../../words/verdicts";
import { useChecked } from "./checked";
import css from "./checked-list.module.css";
import { Mark } from "../../ui/mark";

export function CheckedList() {
  const checked = useChecked();
  if (checked.length === 0) return null;
  return (
    <Card id="checked" title="Checked in this tab">
      <ul class={css.list}>
        {checked.map(({ result, at }) => {
          const { tone, title } = explain(result);
          return (
            <li class={css.item}>
              <Mark tone={tone} small />
              <span class={css.what}>
                <span class="address">{result.email}</span>
                <span class="quiet">{title}</span>
              </span>
              <time class="quiet" dateTime={at.toISOString()}>
                {new Intl.DateTimeFormat("en", {
                  hour: "2-digit",
                  minute: "2-digit",
                  hourCycle: "h23",
                }).format(at)}
              </time>
            </li>
          );
        })}
      </ul>
      <p class={css.gone}>This list is only in this tab. It’s gone when you close or reload it.</p>
    </Card>
  );
}
