// A button that copies a text and reports whether it worked.
import { useEffect, useState } from "preact/hooks";
import { Button } from "./button";
import css from "./copy.module.css";

/** Duration of "Copied" in milliseconds. */
const SHOWN = 2_000;

export function Copy({ text, what }: { text: string; what: string }) {
  const [result, setResult] = useState<"copied" | "failed">();
  useEffect(() => {
    if (result === undefined) return;
    const timer = setTimeout(() => setResult(undefined), SHOWN);
    return () => clearTimeout(timer);
  }, [result]);

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setResult("copied");
    } catch {
      setResult("failed");
    }
  }

  const shown = result === "copied" ? "Copied" : result === "failed" ? "Select and copy it" : "Copy";
  return (
    <>
      <Button onClick={() => void copy()} label={`${shown}: ${what}`}>
        <span class={css.fixed}>
          <span>{shown}</span>
          <span aria-hidden="true">Copied</span>
        </span>
      </Button>
      <span class="visually-hidden" role="status">
        {result === "copied" ? `${what} copied` : ""}
      </span>
    </>
  );
}
