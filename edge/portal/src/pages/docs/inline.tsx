// A sentence of the API description or of a table, with code between backticks.
import type { ComponentChildren } from "preact";

/** Renders code between backticks, the only Markdown in the descriptions. */
export function Inline({ text }: { text: string }): ComponentChildren {
  return text.split("`").map((part, at) => (at % 2 === 1 ? <code>{part}</code> : part));
}
