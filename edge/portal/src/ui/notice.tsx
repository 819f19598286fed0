import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { tell } from "../words/problems";

interface NoticeProps {
  tone: "good" | "bad" | "unknown" | "plain";
  title?: string;
  children?: ComponentChildren;
}

/** Announced when it appears: at once for what went wrong, politely otherwise. */
export function Notice({ tone, title, children }: NoticeProps) {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {title !== undefined && <p class="notice-title">{title}</p>}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}

export function ProblemNotice({ problem }: { problem: Problem }) {
  return (
    <Notice tone={problem.cause.kind === "limit" ? "unknown" : "bad"}>
      <p>{tell(problem)}</p>
    </Notice>
  );
}
