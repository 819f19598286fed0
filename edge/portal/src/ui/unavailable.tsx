// Replacement for content that couldn't be loaded.
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem";
import { tell } from "../words/problems";
import { Actions } from "./actions";
import css from "./unavailable.module.css";

interface UnavailableProps {
  problem: Problem;
  what: string;
  children: ComponentChildren;
}

export function Unavailable({ problem, what, children }: UnavailableProps) {
  const heading = problem.passes ? "The service is unavailable" : `We couldn’t load ${what}`;
  return (
    <UnavailableFrame heading={<h2>{heading}</h2>}>
      <p>{tell(problem)}</p>
      <Actions>{children}</Actions>
    </UnavailableFrame>
  );
}

interface FrameProps {
  heading: ComponentChildren;
  children: ComponentChildren;
}

export function UnavailableFrame({ heading, children }: FrameProps) {
  return (
    <section class={css.unavailable} role="alert">
      {heading}
      {children}
    </section>
  );
}
