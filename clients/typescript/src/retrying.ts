import { RcptError, membersOf, secondsOf } from "./errors.js";

/** Settings for the retries of calls. */
export interface Retries {
  /** Time limit of a call in seconds, including its retries and pauses; 30 by default. */
  timeout?: number | undefined;
}

/** Seconds before the first retry if the service doesn't name a pause; each further pause is twice as long. */
const FIRST = 0.5;
const LONGEST = 15;

/**
 * Time limit of an attempt in seconds: the service responds to a check within 12, even if only with
 * an error.
 */
const ATTEMPT = 15;

/**
 * Shortest time of an attempt in seconds; a quarter of the time of a call under 4 s. With less, the
 * call would end with "no answer" instead of the service's last response.
 */
const RESERVE = 1;

/** Code of a 409: the first call with this `Idempotency-Key` is still in flight. */
const IN_PROGRESS = "idempotency_key_in_use";

/** Returns a `fetch` that retries after temporary errors of the service and broken connections. */
export function retrying({ timeout }: Retries): (request: Request) => Promise<Response> {
  const seconds = timeout ?? 30;
  if (!(seconds > 0)) throw new RangeError("The timeout must be more than 0 seconds.");
  return (request) => called(request, seconds);
}

async function called(request: Request, seconds: number): Promise<Response> {
  const hasKey = request.headers.has("Idempotency-Key");
  // All attempts share one key, so that the service recognises them as one request.
  if (request.method === "POST" && !hasKey) request.headers.set("Idempotency-Key", crypto.randomUUID());
  // Every attempt can send these bytes again; a stream would need a copy for each attempt.
  const body = request.body === null ? null : await request.arrayBuffer();
  const end = performance.now() + seconds * 1000;
  const reserve = Math.min(RESERVE, seconds / 4) * 1000;
  let unanswered = false;
  for (let failures = 0; ; failures += 1) {
    const outcome = await attempt(request, body, Math.min(end - performance.now(), ATTEMPT * 1000));
    unanswered ||= outcome instanceof RcptError;
    const isInProgress = !(outcome instanceof RcptError) && (await isUnderWay(outcome));
    if (!(outcome instanceof RcptError) && !isInProgress && ![429, 502, 503, 504].includes(outcome.status))
      return outcome;
    const asked = outcome instanceof RcptError ? undefined : secondsOf(outcome);
    const doubled = Math.min(FIRST * 2 ** failures, LONGEST);
    const pause = Math.max(asked ?? doubled, FIRST) * (1 + Math.random() / 2) * 1000;
    if (performance.now() + pause + reserve > end) {
      if (outcome instanceof RcptError) throw outcome;
      // An earlier attempt of this call got no answer and is still in flight.
      if (isInProgress && (unanswered || !hasKey))
        throw new RcptError(`The service didn't answer within ${seconds} s.`, 0);
      return outcome;
    }
    await paused(pause, request.signal);
  }
}

/**
 * Returns the complete response, or the error for a broken connection. Rejects when the caller's
 * signal aborts.
 */
async function attempt(
  { url, method, headers, signal }: Request,
  body: ArrayBuffer | null,
  milliseconds: number,
): Promise<Response | RcptError> {
  // `AbortSignal.any` is missing in Node.js before 20.3.
  const limit = new AbortController();
  const stop = () => limit.abort();
  // `AbortSignal.timeout` isn't used: its timer doesn't keep a program alive.
  const timer = setTimeout(stop, Math.max(milliseconds, 1));
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  // Following a redirect could send the key to another host.
  const init: RequestInit = { method, headers, body, redirect: "manual", signal: limit.signal };
  try {
    const response = await fetch(url, init);
    const answer = await response.arrayBuffer();
    const { status, statusText, headers: given } = response;
    // Responses with these statuses can't have a body.
    const isEmpty = [204, 205, 304].includes(status);
    return new Response(isEmpty ? null : answer, { status, statusText, headers: given });
  } catch (cause) {
    signal.throwIfAborted();
    const why = limit.signal.aborted ? "no answer in time" : reasonOf(cause);
    return new RcptError(`The service can't be reached: ${why}.`, 0, { cause });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

/** Returns the cause behind the message `fetch failed`. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code, message } = membersOf(cause);
  return ([message, code].find((text) => typeof text === "string" && text !== "") as string) ?? String(error);
}

/** Resolves after the pause, and rejects as soon as the signal aborts. */
export function paused(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

async function isUnderWay(response: Response): Promise<boolean> {
  if (response.status !== 409) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  return membersOf(body)["code"] === IN_PROGRESS;
}
