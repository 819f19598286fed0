/** Members of an {@link RcptError}. */
export interface ErrorDetails {
  code?: string | undefined;
  retryAfter?: number | undefined;
  requestId?: string | undefined;
  limit?: string | undefined;
  resetsAt?: Date | undefined;
  docUrl?: string | undefined;
  cause?: unknown;
}

/** Failure of a call: an unexpected response, or none at all. */
export class RcptError extends Error {
  override name = "RcptError";
  /** Code for programs; some errors have none. */
  readonly code: string | undefined;
  /** Seconds until a retry makes sense, if the service names them. */
  readonly retryAfter: number | undefined;
  /** Id to quote when you report a problem. */
  readonly requestId: string | undefined;
  /** The exhausted allowance, such as `email check`, and the time of its renewal. */
  readonly limit: string | undefined;
  readonly resetsAt: Date | undefined;
  /** A page about this error, if the service names one. */
  readonly docUrl: string | undefined;

  constructor(
    message: string,
    /** The HTTP status; 0 if no response was received in time. */
    readonly status: number,
    details: ErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.retryAfter = details.retryAfter;
    this.requestId = details.requestId;
    this.limit = details.limit;
    this.resetsAt = details.resetsAt;
    this.docUrl = details.docUrl;
  }
}

/** Returns the error in a response; `body` is its JSON. */
export function errorOf(response: Response, body: unknown): RcptError {
  const { detail, code, doc_url: docUrl } = membersOf(body);
  const { error, limit, resets_at: resetsAt } = membersOf(detail);
  const message = textOf(detail) ?? textOf(error);
  return new RcptError(
    message ?? `What answers, with status ${response.status}, isn't the service.`,
    response.status,
    {
      code: textOf(code),
      retryAfter: secondsOf(response),
      requestId: response.headers.get("X-Request-Id") ?? undefined,
      limit: textOf(limit),
      resetsAt: timeOf(textOf(resetsAt)),
      docUrl: textOf(docUrl),
    },
  );
}

/** Returns the delay in seconds that the service requests. */
export function secondsOf(response: Response): number | undefined {
  const text = response.headers.get("Retry-After") ?? "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function timeOf(text: string | undefined): Date | undefined {
  const time = new Date(text ?? "");
  return Number.isNaN(time.getTime()) ? undefined : time;
}
