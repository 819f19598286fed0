// Lists that this tab is sending, whichever page is open. Sending goes on by itself after a lost connection; closing the
// tab asks first.
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../../../api/problem";
import { PART, type Scan, sendPart } from "../../../api/scans";

export interface Sending {
  scan: Scan;
  /** Once it has stopped, only the person can let it go on. */
  state: "under way" | "stopped" | "done";
  /** Why sending pauses or has stopped. */
  problem?: Problem;
}

/** Milliseconds before sending goes on after a lost connection: longer each time. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

const sendings = new Map<string, Sending>();
const listeners = new Set<() => void>();
const ask = (event: BeforeUnloadEvent) => event.preventDefault();

/** Sends the parts of a list that its scan lacks. Parts are sent in order, so the first ones are there. */
export async function send(begun: Scan, addresses: readonly string[]): Promise<void> {
  if (sendings.get(begun.id)?.state === "under way") return;
  const state = "under way" as const;
  change({ scan: begun, state });
  let pause = FIRST_PAUSE;
  for (let n = Math.floor(begun.received / PART); n * PART < addresses.length; ) {
    try {
      const scan = await sendPart(begun.id, n, addresses.slice(n * PART, (n + 1) * PART));
      change({ scan, state });
      pause = FIRST_PAUSE;
      n += 1;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      const { scan } = sendings.get(begun.id) ?? { scan: begun };
      const { passes, retryAfter } = problem;
      if (!passes && retryAfter === undefined) return change({ scan, state: "stopped", problem });
      change({ scan, state, problem });
      await online(Math.max(pause, (retryAfter ?? 0) * 1_000));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
  change({ scan: sendings.get(begun.id)?.scan ?? begun, state: "done" });
}

/** Returns what this tab is sending to a scan. */
export function useSending(scan: string): Sending | undefined {
  const [, redraw] = useState({});
  useEffect(() => {
    const listener = () => redraw({});
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return sendings.get(scan);
}

function change(sending: Sending): void {
  sendings.set(sending.scan.id, sending);
  const under = [...sendings.values()].some(({ state }) => state === "under way");
  if (under) window.addEventListener("beforeunload", ask);
  else window.removeEventListener("beforeunload", ask);
  for (const listener of listeners) listener();
}

/** Waits, but no longer than until the connection is there again. */
function online(pause: number): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      window.clearTimeout(timer);
      window.removeEventListener("online", go);
      resolve();
    };
    const timer = window.setTimeout(go, pause);
    window.addEventListener("online", go);
  });
}
