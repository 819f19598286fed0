// Checks made in this tab. The list is in memory only: closing or reloading the tab, or signing out, clears it.
import { useEffect, useState } from "preact/hooks";
import type { ValidationResult } from "../../api/details";
import * as session from "../../session";

export interface Checked {
  result: ValidationResult;
  at: Date;
}

/** Maximum number of remembered checks. */
const MOST = 50;

let checked: Checked[] = [];
const listeners = new Set<() => void>();

session.listen(() => {
  if (session.current() === undefined) change([]);
});

export function remember(result: ValidationResult): void {
  change([{ result, at: new Date() }, ...checked].slice(0, MOST));
}

/** Returns the checks, newest first. */
export function useChecked(): readonly Checked[] {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return checked;
}

function change(to: Checked[]): void {
  checked = to;
  for (const listener of listeners) listener();
}
