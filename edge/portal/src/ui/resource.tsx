import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem";
import { Button } from "./button";
import { Unavailable } from "./unavailable";

/** Something that is loaded from the API. */
export interface Resource<T> {
  data: T | undefined;
  problem: Problem | undefined;
  /** Loads again and shows what it has until then. */
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

interface LoadedProps<T> {
  resource: Resource<T>;
  /** Heights of what will be there, so that nothing jumps. */
  skeleton: ("line" | "block")[];
  what: string;
  children: (data: T) => ComponentChildren;
}

/** Draws a resource once it is there, and what to do when it is not. */
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
  return (
    <div class="skeleton" role="status" aria-label={`Loading ${what}`}>
      {skeleton.map((kind) => (
        <div class={`bone ${kind}`} />
      ))}
    </div>
  );
}
