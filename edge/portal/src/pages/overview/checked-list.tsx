// The list of the addresses checked in this tab.
import { useState } from "preact/hooks";
import type { ValidationResult } from "../../api/details";
import { Card } from "../../ui/card";
import { clock } from "../../words/times";
import { explain } from "../../words/verdicts";
import { useChecked } from "./checked";
import css from "./checked-list.module.css";
import { Mark } from "../../ui/mark";
import { Verdict } from "../../ui/verdict";

export function CheckedList() {
  const checked = useChecked();
  const [open, setOpen] = useState<ValidationResult>();
  if (checked.length === 0) return null;
  return (
    <Card id="checked" title="Checked in this tab">
      <ul class={css.list}>
        {checked.map(({ result, at }) => {
          const { tone, title } = explain(result);
          const shown = result === open;
          return (
            <li class={css.item}>
              <Mark tone={tone} small />
              <span class={css.what}>
                <button
                  type="button"
                  class={css.open}
                  aria-expanded={shown}
                  onClick={() => setOpen(shown ? undefined : result)}
                >
                  <span class="address">{result.email}</span>
                </button>
                <span class="quiet">{title}</span>
              </span>
              <time class="quiet" dateTime={at.toISOString()}>
                {clock(at)}
              </time>
              {shown && (
                <div class={css.verdict}>
                  <Verdict result={result} />
                </div>
              )}
            </li>
          );
        })}
      </ul>
      <p class={css.gone}>This list is only in this tab. It’s gone when you close or reload it.</p>
    </Card>
  );
}
