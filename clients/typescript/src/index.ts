/** A client of the API that tells whether an email address can receive mail. */
import createClient, { type Client } from "openapi-fetch";
import { type RateLimit, rateLimitOf } from "./rate-limit.js";
import { type Retries, retrying } from "./retrying.js";
import type { components, paths } from "./schema.js";

export type Schemas = components["schemas"];
export type ValidationResult = Schemas["ValidationResult"];
export type QuotaReport = Schemas["QuotaReport"];
export type { paths, RateLimit, Retries };

export interface Options extends Retries {
  /** The address of the service, such as `https://rcpt.example.net`. */
  url: string;
  apiKey: string;
}

/** An answer that isn't the one that was asked for. */
export class RcptError extends Error {
  override name = "RcptError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** For programs; some errors have none. */
    readonly code: string | undefined,
    /** Seconds after which it's worth trying again, if the service says so. */
    readonly retryAfter: number | undefined,
  ) {
    super(message);
  }
}

export class Rcpt {
  /** Every operation of the API, typed by its description. */
  readonly api: Client<paths>;
  #rateLimit: RateLimit | undefined;

  constructor({ url, apiKey, ...retries }: Options) {
    const { protocol, hostname } = new URL(url);
    const isHere = ["localhost", "[::1]"].includes(hostname) || /^127(\.\d+){3}$/.test(hostname);
    if (protocol !== "https:" && !(protocol === "http:" && isHere))
      throw new TypeError("The service's address must start with https://.");
    this.api = createClient<paths>({
      baseUrl: url.replace(/\/+$/, ""),
      headers: { "X-API-Key": apiKey },
      fetch: retrying(retries),
    });
    this.api.use({
      onResponse: ({ response }) => {
        this.#rateLimit = rateLimitOf(response.headers) ?? this.#rateLimit;
      },
    });
  }

  /** What is left, as the last answer that said so has it; undefined before that, and on an unlimited plan. */
  get rateLimit(): RateLimit | undefined {
    return this.#rateLimit;
  }

  /**
   * Asks whether an address can receive mail; with `details`, also why. Sent again with the same `idempotencyKey`
   * within 24 hours, it's counted once.
   */
  async check(
    email: string,
    { details = false, idempotencyKey }: { details?: boolean; idempotencyKey?: string } = {},
  ): Promise<ValidationResult> {
    const header = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
    return answer(
      await this.api.POST("/v1/validate_email", { params: { header }, body: { email, details } }),
    );
  }

  /** The plan and what is left of it today. */
  async quota(): Promise<QuotaReport> {
    return answer(await this.api.GET("/v1/me/quota"));
  }
}

/** What was asked for, or an error to throw. Also for calls of {@link Rcpt.api}. */
export function answer<T>(told: { data?: T; error?: unknown; response: Response }): T {
  const { data, error, response } = told;
  // 204 has nothing to say.
  if (response.ok && (data !== undefined || response.status === 204)) return data as T;
  const { detail, code } = membersOf(error);
  const message = typeof detail === "string" ? detail : membersOf(detail)["error"];
  const after = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new RcptError(
    typeof message === "string" ? message : `The service answers with status ${response.status}.`,
    response.status,
    typeof code === "string" ? code : undefined,
    Number.isNaN(after) ? undefined : after,
  );
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
