// A call in a programming language. The reader's choice applies to every example of the page.
import { useRef } from "preact/hooks";
import { Copy } from "./copy";
import { type Example, LANGUAGES, type Language, write } from "../words/examples";
import css from "./example-box.module.css";

interface ExampleBoxProps {
  id: string;
  example: Example;
  /** Masked key to show; "Copy" copies the key itself. */
  shownKey: string | undefined;
  language: Language;
  onLanguage: (language: Language) => void;
}

export function ExampleBox({ id, example, shownKey, language, onLanguage }: ExampleBoxProps) {
  const tabs = useRef<HTMLDivElement>(null);
  const { credential } = example;
  const shown =
    shownKey === undefined || credential === undefined
      ? example
      : { ...example, credential: { ...credential, value: shownKey } };

  const offered = LANGUAGES.filter((name) => write(name, example) !== undefined);
  const current = offered.includes(language) ? language : LANGUAGES[0];

  function move(event: KeyboardEvent) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = offered[(offered.indexOf(current) + step + offered.length) % offered.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    onLanguage(next);
    tabs.current?.querySelectorAll("button")[offered.indexOf(next)]?.focus();
  }

  return (
    <div class={css.example}>
      <div class={css.head}>
        <div class={css.tabs} role="tablist" aria-label="Language" ref={tabs} onKeyDown={move}>
          {offered.map((name) => (
            <button
              type="button"
              role="tab"
              id={`${id}-${name}`}
              aria-selected={name === current}
              aria-controls={`${id}-example`}
              tabIndex={name === current ? 0 : -1}
              onClick={() => onLanguage(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <Copy text={write(current, example) ?? ""} what="Example" />
      </div>
      <pre
        class={css.text}
        id={`${id}-example`}
        role="tabpanel"
        aria-labelledby={`${id}-${current}`}
        tabIndex={0}
      >
        <code>{write(current, shown)}</code>
      </pre>
    </div>
  );
}
