// A piece of code or JSON with a caption.
import css from "./code.module.css";

export function Code({ caption, text }: { caption: string; text: string }) {
  return (
    <figure class={css.code}>
      <figcaption>{caption}</figcaption>
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
