/** A client of the API that tells whether an email address can receive mail. */
import createClient, { type Client } from "openapi-fetch";
import { RcptError, errorOf } from "./errors.js";
import { checkKey, checkRuntime, serviceAt } from "./options.js";
import { type RateLimit, rateLimitOf } from "./rate-limit.js";
import { type Retries, paused, retrying } from "./retrying.js";
import {
  type Joined,
  LONGEST_LOOK,
  LOOK,
  type NewScan,
  PAGE,
  PART,
  type Scan,
  type ScanResult,
  type Waiting,
  isOver,
  joined,
  partsOf,
} from "./scans.js";
import type { components, paths } from "./schema.js";

export { RcptError } from "./errors.js";
export { WebhookError, type WebhookEvent, type WebhookHeaders, verifyWebhook } from "./webhooks.js";
export type Schemas = components["schemas"];
export type ValidationResult = Schemas["ValidationResult"];
export type ListResult = Schemas["ListResult"];
export type Decision = Schemas["Decision"];
export type DomainAnswer = Schemas["DomainAnswer"];
export type QuotaReport = Schemas["QuotaReport"];
export type { Joined, NewScan, paths, RateLimit, Retries, Scan, ScanResult, Waiting };

export interface Options extends Retries {
  /** URL of the service, such as `https://rcpt.example.net`. */
  url: string;
  apiKey: string;
}

export interface CallOptions {
  /** Aborts the call, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Time limit of each request in seconds, in place of the client's. */
  timeout?: number | undefined;
}

export interface OnceOptions extends CallOptions {
  /** A repeat with the same key within 24 hours isn't charged again. */
  idempotencyKey?: string;
}

export interface CheckOptions extends OnceOptions {
  /** Includes the evidence behind the verdict. */
  details?: boolean;
  /**
   * Milliseconds, 300 to 10,000, after which the result is `pending` if the verdict hasn't arrived:
   * a repeat with the same `idempotencyKey` returns it later.
   */
  deadlineMs?: number;
}

export class Rcpt {
  /** Every operation of the API, typed by its OpenAPI document. */
  readonly api: Client<paths>;
  #rateLimit: RateLimit | undefined;

  constructor({ url, apiKey, ...retries }: Options) {
    checkRuntime();
    checkKey(apiKey);
    this.api = createClient<paths>({
      baseUrl: serviceAt(url),
      headers: { "X-API-Key": apiKey },
      fetch: retrying(retries),
    });
    this.api.use({
      onResponse: ({ response }) => {
        this.#rateLimit = rateLimitOf(response.headers) ?? this.#rateLimit;
      },
    });
  }

  /** Remaining allowance from the last response that had it; undefined until then, and on an unlimited plan. */
  get rateLimit(): RateLimit | undefined {
    return this.#rateLimit;
  }

  /** Checks an address; with `details`, the result includes the reason. */
  async check(
    email: string,
    { details = false, deadlineMs, ...call }: CheckOptions = {},
  ): Promise<ValidationResult> {
    const deadline = deadlineMs === undefined ? {} : { deadline_ms: deadlineMs };
    const init = { ...once(call), body: { email, details, ...deadline } };
    return answer(await this.api.POST("/v1/validate_email", init));
  }

  /**
   * Checks up to 100 addresses in one call; each is charged as a check. If fewer checks are left
   * than there are addresses, none is checked.
   */
  async checkList(
    emails: string[],
    { details = false, deadlineMs, ...call }: CheckOptions = {},
  ): Promise<ListResult> {
    const deadline = deadlineMs === undefined ? {} : { deadline_ms: deadlineMs };
    const init = { ...once(call), body: { emails, details, ...deadline } };
    return answer(await this.api.POST("/v1/validate_emails", init));
  }

  /** Returns the kind of a domain, without an address. The call is charged as a check. */
  async checkDomain(domain: string, call: OnceOptions = {}): Promise<DomainAnswer> {
    return answer(await this.api.POST("/v1/domains", { ...once(call), body: { domain } }));
  }

  /**
   * Asks the sign-up guard whether an address may sign up, by your policy. The answer comes within the policy's
   * deadline; if the call fails all the same, let the person sign up.
   */
  async decide(email: string, call: OnceOptions = {}): Promise<Decision> {
    return answer(await this.api.POST("/v1/guard/decide", { ...once(call), body: { email } }));
  }

  /** Returns the plan and the remaining allowances. */
  async quota(call: CallOptions = {}): Promise<QuotaReport> {
    return answer(await this.api.GET("/v1/me/quota", initOf(call)));
  }

  /** Permanently ends this client's own API key. If it was the account's first key, signing in returns a new one. */
  async endKey(call: CallOptions = {}): Promise<void> {
    answer(await this.api.POST("/v1/keys/self-revoke", initOf(call)));
  }

  /** Starts a scan of a list and sends all its parts. */
  async startScan(
    addresses: readonly string[],
    { name = "", details = true, ...call }: NewScan = {},
  ): Promise<Scan> {
    const isOnePart = addresses.length <= PART;
    const list = isOnePart ? { addresses: [...addresses] } : { total: addresses.length };
    const init = { ...once(call), body: { name, details, ...list } };
    let scan: Scan = answer(await this.api.POST("/v1/scans", init));
    if (isOnePart) return scan;
    for (const [n, part] of partsOf(addresses).entries()) {
      const params = { path: { id: scan.id, n } };
      const init = { params, body: { addresses: part }, ...initOf(call) };
      scan = answer(await this.api.PUT("/v1/scans/{id}/parts/{n}", init));
    }
    return scan;
  }

  /** Waits until a scan has ended. */
  async waitForScan(id: string, { timeout, onProgress, signal }: Waiting = {}): Promise<Scan> {
    const end = timeout === undefined ? Infinity : performance.now() + timeout * 1000;
    let [look, answered] = [LOOK, -1];
    for (;;) {
      const scan = await this.scan(id, { signal });
      onProgress?.(scan);
      if (isOver(scan)) return scan;
      look = scan.answered > answered ? LOOK : Math.min(look * 2, LONGEST_LOOK);
      answered = scan.answered;
      if (performance.now() + look >= end)
        throw new RcptError(`The scan ${id} hasn't ended within ${timeout} s. It goes on.`, 0);
      await paused(look, signal);
    }
  }

  /**
   * Returns the addresses of a scan in their original order, each with its result. Rejects with a
   * `RangeError` if `addresses` isn't the scanned list; the service compares each part up to twenty times.
   */
  async joinScan(id: string, addresses: readonly string[], call: CallOptions = {}): Promise<Joined[]> {
    const { total } = await this.scan(id, call);
    if (total !== addresses.length)
      throw new RangeError(`The scan is of ${total} addresses, and the list has ${addresses.length}.`);
    for (const [n, part] of partsOf(addresses).entries())
      if (!(await this.#isPart(id, n, part, call))) {
        const [first, last] = [n * PART + 1, n * PART + part.length];
        throw new RangeError(
          `This isn't the list that was scanned, or not in its order: addresses ${first} to ${last} differ.`,
        );
      }
    return joined(addresses, await this.scanResults(id, call));
  }

  async #isPart(id: string, n: number, addresses: string[], call: CallOptions): Promise<boolean> {
    const init = { params: { path: { id, n } }, body: { addresses }, ...initOf(call) };
    try {
      return answer(await this.api.POST("/v1/scans/{id}/parts/{n}/match", init)).matches;
    } catch (error) {
      if (error instanceof RcptError && isIncomparable(error)) return true;
      throw error;
    }
  }

  /** Returns the current state of a scan. */
  async scan(id: string, call: CallOptions = {}): Promise<Scan> {
    return answer(await this.api.GET("/v1/scans/{id}", { params: { path: { id } }, ...initOf(call) }));
  }

  /** Returns all scans, newest first. */
  async scans(call: CallOptions = {}): Promise<Scan[]> {
    const found: Scan[] = [];
    let before: string | undefined;
    do {
      const query = { limit: 100, ...(before === undefined ? {} : { before }) };
      const page = answer(await this.api.GET("/v1/scans", { params: { query }, ...initOf(call) }));
      found.push(...page.scans);
      before = page.next ?? undefined;
    } while (before !== undefined);
    return found;
  }

  /** Returns all results of a scan, by position. */
  async scanResults(id: string, call: CallOptions = {}): Promise<ScanResult[]> {
    const found: ScanResult[] = [];
    let after: number | undefined;
    do {
      const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const init = { params: { path: { id }, query }, ...initOf(call) };
      // The default format is JSON.
      const page = answer(await this.api.GET("/v1/scans/{id}/results", init)) as Schemas["ScanResults"];
      found.push(...page.results);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return found;
  }

  /** Cancels a scan; verdicts found so far are kept. */
  async cancelScan(id: string, call: CallOptions = {}): Promise<Scan> {
    const init = { params: { path: { id } }, ...initOf(call) };
    return answer(await this.api.POST("/v1/scans/{id}/cancel", init));
  }

  /** Deletes a scan with its results; a running one is cancelled. */
  async deleteScan(id: string, call: CallOptions = {}): Promise<void> {
    const init = { params: { path: { id } }, ...initOf(call) };
    answer(await this.api.DELETE("/v1/scans/{id}", init));
  }
}

/** Returns whether a part can't be compared, because it has fewer than two different addresses. */
function isIncomparable({ code }: RcptError): boolean {
  return code === "nothing_to_match";
}

/** Returns the settings of a request that may be repeated without being charged again. */
function once({ idempotencyKey, ...call }: OnceOptions) {
  // The runtime's own error would quote the value, which may be an address.
  if (idempotencyKey !== undefined && !/^[!-~]*$/.test(idempotencyKey))
    throw new TypeError("An idempotencyKey has only printable ASCII characters, and no spaces.");
  const header = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  return { params: { header }, ...initOf(call) };
}

function initOf({ signal, timeout }: CallOptions) {
  return {
    ...(signal === undefined ? {} : { signal }),
    ...(timeout === undefined ? {} : { fetch: retrying({ timeout }) }),
  };
}

/** Returns the response's data, or throws its error. Also for responses of {@link Rcpt.api}. */
export function answer<T>(told: { data?: T; error?: unknown; response: Response }): T {
  const { data, error, response } = told;
  // A 204 has no body.
  if (response.ok && (data !== undefined || response.status === 204)) return data as T;
  throw errorOf(response, error);
}
