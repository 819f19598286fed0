import { useRef } from "preact/hooks";
import { Copy } from "../../ui/copy";
import { type Example, LANGUAGES, type Language, write } from "./examples";

interface ExampleBoxProps {
  id: string;
  example: Example;
  /** What stands in place of the key while it is hidden; copying gives the key itself. */
  shownKey: string | undefined;
  language: Language;
  onLanguage: (language: Language) => void;
}

/** One call in the reader's language; choosing another changes every example of the page. */
export function ExampleBox({ id, example, shownKey, language, onLanguage }: ExampleBoxProps) {
  const tabs = useRef<HTMLDivElement>(null);
  const { credential } = example;
  const shown =
    shownKey === undefined || credential === undefined
      ? example
      : { ...example, credential: { ...credential, value: shownKey } };

  function move(event: KeyboardEvent) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = (LANGUAGES.indexOf(language) + step + LANGUAGES.length) % LANGUAGES.length;
    onLanguage(LANGUAGES[next]!);
    tabs.current?.querySelectorAll("button")[next]?.focus();
  }

  return (
    <div class="code example">
      <div class="example-head">
        <div class="tabs" role="tablist" aria-label="Language" ref={tabs} onKeyDown={move}>
          {LANGUAGES.map((name) => (
            <button
              type="button"
              role="tab"
              id={`${id}-${name}`}
              aria-selected={name === language}
              aria-controls={`${id}-example`}
              tabIndex={name === language ? 0 : -1}
              onClick={() => onLanguage(name)}
            >
              {name}
            </button>
          ))}
        </div>
        <Copy text={write(language, example)} what="Example" />
      </div>
      <pre id={`${id}-example`} role="tabpanel" aria-labelledby={`${id}-${language}`} tabIndex={0}>
        <code>{write(language, shown)}</code>
      </pre>
    </div>
  );
}
