/** `fetch` that makes a call again when the service asks for it, or when the connection breaks. */
export interface Retries {
  /** Seconds that one call may wait in all; 30 unless said otherwise. */
  patience?: number;
  /** Seconds that one attempt may take; 30 unless said otherwise. */
  timeout?: number;
}

/** Before the second attempt, where the service names no time; it doubles with each. Seconds. */
const FIRST = 0.5;
const LONGEST = 15;

/** The first call with this `Idempotency-Key` is still under way. */
const IN_PROGRESS = "idempotency_key_in_use";

export function retrying({ patience = 30, timeout = 30 }: Retries): (request: Request) => Promise<Response> {
  return async (request) => {
    // One for all attempts, so that they can be told to be one.
    if (request.method === "POST" && !request.headers.has("Idempotency-Key"))
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    let left = patience;
    for (let failures = 0; ; failures += 1) {
      const attempt = await fetch(request.clone(), {
        // A redirection would carry the key to another host.
        redirect: "manual",
        signal: AbortSignal.any([request.signal, AbortSignal.timeout(timeout * 1000)]),
      }).catch((error: unknown) => ({ error }));
      if ("error" in attempt && request.signal.aborted) throw attempt.error;
      if (!("error" in attempt) && !(await isMomentary(attempt))) return attempt;
      const asked = "error" in attempt ? undefined : secondsOf(attempt);
      const pause =
        Math.max(asked ?? Math.min(FIRST * 2 ** failures, LONGEST), FIRST) * (1 + Math.random() / 2);
      left -= pause;
      if (left < 0) {
        if ("error" in attempt) throw attempt.error;
        return attempt;
      }
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
  };
}

function secondsOf(response: Response): number | undefined {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isNaN(seconds) ? undefined : seconds;
}

async function isMomentary(response: Response): Promise<boolean> {
  if ([429, 502, 503, 504].includes(response.status)) return true;
  if (response.status !== 409) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return typeof body === "object" && body !== null && "code" in body && body.code === IN_PROGRESS;
}
