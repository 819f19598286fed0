// Data loaded from the API: its state, and a placeholder until it has arrived.
import { clsx } from "clsx";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { Button } from "./button";
import css from "./resource.module.css";
import { Unavailable } from "./unavailable";

export interface Resource<T> {
  data: T | undefined;
  problem: Problem | undefined;
  /** Loads the data again; the old data is shown until the new data arrives. */
  reload: () => Promise<void>;
  set: (data: T) => void;
}

export function useResource<T>(load: () => Promise<T>): Resource<T> {
  const [data, set] = useState<T>();
  const [problem, setProblem] = useState<Problem>();
  const reload = useCallback(async () => {
    setProblem(undefined);
    try {
      set(await load());
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      setProblem(error);
    }
  }, []);
  useEffect(() => void reload(), []);
  return { data, problem, reload, set };
}

/** Shape of a placeholder: a line of text, or a block of several. */
type Bone = "line" | "block";

interface LoadedProps<T> {
  resource: Resource<T>;
  /** Placeholders as high as the content, so that nothing moves when it is loaded. */
  skeleton: Bone[];
  what: string;
  children: (data: T) => ComponentChildren;
}

/** Draws a loaded resource, or advice if it couldn't be loaded. */
export function Loaded<T>({ resource, skeleton, what, children }: LoadedProps<T>) {
  const { data, problem, reload } = resource;
  if (data !== undefined) return <>{children(data)}</>;
  if (problem !== undefined) {
    return (
      <Unavailable problem={problem} what={what}>
        <Button kind="primary" onClick={() => void reload()}>
          Try again
        </Button>
      </Unavailable>
    );
  }
  return <Skeleton label={`Loading ${what}`} bones={skeleton} />;
}

/** Grey placeholders while loading. The browser tests use the plain class name. */
export function Skeleton({ label, bones }: { label: string; bones: Bone[] }) {
  return (
    <div class={clsx("skeleton", css.skeleton)} role="status" aria-label={label}>
      {bones.map((kind) => (
        <div class={clsx(css.bone, css[kind])} />
      ))}
    </div>
  );
}
