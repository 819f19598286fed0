// Forms: one submission at a time, with mistakes and problems shown next to the field.
import type { ComponentChildren, TargetedEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { tell } from "../words/problems";
import { Actions } from "./actions";
import { Button } from "./button";
import css from "./form.module.css";
import { ProblemNotice } from "./notice";

/** Mistakes by the name of their field. */
export type Mistakes = Record<string, string | undefined>;

/** State of an action that a person has started and that takes time. */
export interface Submission {
  busy: boolean;
  problem: Problem | undefined;
  run: () => Promise<void>;
  clear: () => void;
  /** Returns the problem's text if it has one of these codes, to be shown at its field. */
  told: (codes: readonly string[]) => string | undefined;
}

/** Runs `action` unless it is running, and holds the problem if it fails. */
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
  const told = (codes: readonly string[]) =>
    problem !== undefined && codes.includes(problem.code ?? "") ? tell(problem) : undefined;
  return { busy, problem, run, clear: () => setProblem(undefined), told };
}

interface FormProps {
  submission: Submission;
  /** Returns the mistakes in the fields before anything is sent. */
  check?: () => Mistakes;
  onMistakes?: (mistakes: Mistakes) => void;
  /** Codes of problems that a field already shows. */
  shownAtField?: readonly string[];
  label: string;
  busyLabel: string;
  /** True if the button's action can't be undone. */
  danger?: boolean;
  secondary?: ComponentChildren;
  children?: ComponentChildren;
}

/** A form whose mistakes appear at their fields, and other problems above its button. */
export function Form(props: FormProps) {
  const { submission, label, busyLabel, danger = false, secondary, children } = props;
  const { form, submit, elsewhere } = useForm(props);
  return (
    <form class={css.form} ref={form} noValidate onSubmit={submit}>
      {children}
      {elsewhere}
      <Actions>
        <Button
          type="submit"
          kind={danger ? "destroy" : "primary"}
          busy={submission.busy}
          busyLabel={busyLabel}
        >
          {label}
        </Button>
        {secondary}
      </Actions>
    </form>
  );
}

type LineFormProps = Omit<FormProps, "danger" | "secondary" | "children"> & {
  /** Draws the form's only field with the button next to it. */
  field: (button: ComponentChildren) => ComponentChildren;
  children?: ComponentChildren;
};

/** A form of one field with its button in the same line. */
export function LineForm(props: LineFormProps) {
  const { submission, label, busyLabel, field, children } = props;
  const { form, submit, elsewhere } = useForm(props);
  return (
    <form class={css.form} ref={form} noValidate onSubmit={submit}>
      {field(
        <Button type="submit" kind="primary" busy={submission.busy} busyLabel={busyLabel}>
          {label}
        </Button>,
      )}
      {elsewhere}
      {children}
    </form>
  );
}

type Checked = Pick<FormProps, "submission" | "check" | "onMistakes" | "shownAtField">;

function useForm({ submission, check, onMistakes, shownAtField = [] }: Checked) {
  const form = useRef<HTMLFormElement>(null);
  const { problem } = submission;

  // Waits until the fields have been marked.
  const focusFirstMistake = () =>
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());

  async function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault();
    const mistakes = check?.() ?? {};
    onMistakes?.(mistakes);
    if (Object.values(mistakes).every((mistake) => mistake === undefined)) await submission.run();
    // The previous attempt's error doesn't apply to this one.
    else submission.clear();
    focusFirstMistake();
  }

  const elsewhere = problem !== undefined && !shownAtField.includes(problem.code ?? "") && (
    <ProblemNotice problem={problem} />
  );
  return { form, submit, elsewhere };
}
