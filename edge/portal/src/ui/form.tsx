import type { ComponentChildren, TargetedEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { Button } from "./button";
import { ProblemNotice } from "./notice";

/** What is wrong with each field, by its name. */
export type Mistakes = Record<string, string | undefined>;

/** Something that a person asks for and that takes a while. */
export interface Submission {
  busy: boolean;
  problem: Problem | undefined;
  run: () => Promise<void>;
  clear: () => void;
}

/** Runs `action` once at a time and keeps the problem it ended with. */
export function useSubmission(action: () => Promise<void>): Submission {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const running = useRef(false);
  async function run() {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    } finally {
      running.current = false;
      setBusy(false);
    }
  }
  return { busy, problem, run, clear: () => setProblem(undefined) };
}

interface FormProps {
  submission: Submission;
  /** Looks at the fields before anything is sent. */
  check?: () => Mistakes;
  onMistakes?: (mistakes: Mistakes) => void;
  /** Codes of problems that a field already shows. */
  shownAtField?: readonly string[];
  label: string;
  busyLabel: string;
  danger?: boolean;
  secondary?: ComponentChildren;
  children: ComponentChildren;
}

/** A form whose mistakes appear at their fields, and other problems above its button. */
export function Form(props: FormProps) {
  const {
    submission,
    check,
    onMistakes,
    shownAtField = [],
    label,
    busyLabel,
    danger = false,
    secondary,
    children,
  } = props;
  const form = useRef<HTMLFormElement>(null);
  const { problem } = submission;

  // After the drawing that marks the fields.
  const focusFirstMistake = () =>
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());

  async function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault();
    const mistakes = check?.() ?? {};
    onMistakes?.(mistakes);
    if (Object.values(mistakes).every((mistake) => mistake === undefined)) await submission.run();
    focusFirstMistake();
  }

  const elsewhere = problem !== undefined && !shownAtField.includes(problem.code ?? "");
  return (
    <form class="form" ref={form} noValidate onSubmit={submit}>
      {children}
      {elsewhere && <ProblemNotice problem={problem} />}
      <div class="actions">
        <Button
          type="submit"
          kind={danger ? "danger" : "primary"}
          busy={submission.busy}
          busyLabel={busyLabel}
        >
          {label}
        </Button>
        {secondary}
      </div>
    </form>
  );
}
