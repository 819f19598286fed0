// Failed calls with their reasons.
import type { components } from "./schema";

/** `detail` of a 429 about an allowance. */
export type Limit = components["schemas"]["LimitDetail"];

/** Reason why a call has no result. */
export type Cause =
  | { kind: "unreachable" }
  | { kind: "slow" }
  | { kind: "session-over" }
  /** The browser or the person has cancelled a prompt. */
  | { kind: "declined"; text: string }
  | { kind: "limit"; limit: Limit; code: string | undefined }
  | { kind: "refused"; status: number; code: string | undefined; detail: string };

/** A call that failed, or a prompt that was cancelled. */
export class Problem extends Error {
  constructor(
    readonly cause: Cause,
    /** Seconds to wait before a retry, if the service states a time. */
    readonly retryAfter: number | undefined = undefined,
    readonly requestId: string | undefined = undefined,
  ) {
    super(cause.kind);
  }

  /** The stable code of the error, if it has one. */
  get code(): string | undefined {
    return this.cause.kind === "refused" || this.cause.kind === "limit" ? this.cause.code : undefined;
  }

  /** True if the service failed or couldn't be reached: the same request may work later. */
  get passes(): boolean {
    const { cause } = this;
    return (
      cause.kind === "unreachable" ||
      cause.kind === "slow" ||
      (cause.kind === "refused" && cause.status >= 500)
    );
  }
}

/** Reads an error response of any of the three shapes that the API has. */
export function problemOf(response: Response, body: unknown): Problem {
  const header = Number(response.headers.get("Retry-After") ?? NaN);
  const retryAfter = Number.isFinite(header) ? header : undefined;
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const { detail, code: given } = isObject(body) ? body : {};
  const code = typeof given === "string" ? given : undefined;
  if (isLimit(detail)) return new Problem({ kind: "limit", limit: detail, code }, retryAfter, requestId);
  const text = isObject(detail) ? detail.error : detail;
  const told = typeof text === "string" ? text : `The service responded with status ${response.status}.`;
  return new Problem({ kind: "refused", status: response.status, code, detail: told }, retryAfter, requestId);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isLimit(detail: unknown): detail is Limit {
  return isObject(detail) && typeof detail.limit === "string" && typeof detail.resets_at === "string";
}
