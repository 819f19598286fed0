import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { tell } from "../words/problems";

interface UnavailableProps {
  problem: Problem;
  what: string;
  children: ComponentChildren;
}

/** In place of what could not be loaded. */
export function Unavailable({ problem, what, children }: UnavailableProps) {
  return (
    <section class="unavailable" role="alert">
      <h2>{problem.passes ? "The service is unavailable" : `We could not load ${what}`}</h2>
      <p>{tell(problem)}</p>
      <div class="actions">{children}</div>
    </section>
  );
}
