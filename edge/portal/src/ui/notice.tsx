// Messages in a box. Screen readers announce errors immediately, and other messages politely.
import { clsx } from "clsx";
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { tell } from "../words/problems";
import css from "./notice.module.css";

export type Tone = "good" | "bad" | "unknown" | "plain";

interface NoticeProps {
  tone: Tone;
  title?: string;
  children?: ComponentChildren;
}

export function Notice({ tone, title, children }: NoticeProps) {
  return (
    <div class={clsx(css.notice, css[tone])} data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
      {title !== undefined && <p class={css.title}>{title}</p>}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

export function ProblemNotice({ problem }: { problem: Problem }) {
  return (
    <Notice tone={["limit", "declined"].includes(problem.cause.kind) ? "unknown" : "bad"}>
      <p>{tell(problem)}</p>
    </Notice>
  );
}
