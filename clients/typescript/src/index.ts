/** A client of the API that tells whether an email address can receive mail. */
import createClient, { type Client } from "openapi-fetch";
import { RcptError, errorOf } from "./errors.js";
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
export type DomainAnswer = Schemas["DomainAnswer"];
export type QuotaReport = Schemas["QuotaReport"];
export type { Joined, NewScan, paths, RateLimit, Retries, Scan, ScanResult, Waiting };

export interface Options extends Retries {
  /** URL of the service, such as `https://rcpt.example.net`. */
  url: string;
  apiKey: string;
}

export interface CheckOptions extends Signal {
  /** Includes the evidence behind the verdict. */
  details?: boolean;
  /** A repeat with the same key within 24 hours isn't charged again. */
  idempotencyKey?: string;
  /**
   * Milliseconds, 300 to 10,000, after which the result is `pending` if the verdict hasn't arrived:
   * a repeat with the same `idempotencyKey` returns it later.
   */
  deadlineMs?: number;
}

export interface Signal {
  /** Aborts the call, which rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export class Rcpt {
  /** Every operation of the API, typed by its OpenAPI document. */
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

  /** Remaining allowance from the last response that had it; undefined until then, and on an unlimited plan. */
  get rateLimit(): RateLimit | undefined {
    return this.#rateLimit;
  }

  /** Checks an address; with `details`, the result includes the reason. */
  async check(
    email: string,
    { details = false, idempotencyKey, deadlineMs, signal }: CheckOptions = {},
  ): Promise<ValidationResult> {
    const header = keyOf(idempotencyKey);
    const deadline = deadlineMs === undefined ? {} : { deadline_ms: deadlineMs };
    const init = { params: { header }, body: { email, details, ...deadline }, ...signalOf(signal) };
    return answer(await this.api.POST("/v1/validate_email", init));
  }

  /**
   * Checks up to 100 addresses in one call; each is charged as a check. If fewer checks are left
   * than there are addresses, none is checked.
   */
  async checkList(
    emails: string[],
    { details = false, idempotencyKey, deadlineMs, signal }: CheckOptions = {},
  ): Promise<ListResult> {
    const header = keyOf(idempotencyKey);
    const deadline = deadlineMs === undefined ? {} : { deadline_ms: deadlineMs };
    const init = { params: { header }, body: { emails, details, ...deadline }, ...signalOf(signal) };
    return answer(await this.api.POST("/v1/validate_emails", init));
  }

  /** Returns the kind of a domain, without an address. The call is charged as a check. */
  async checkDomain(
    domain: string,
    { idempotencyKey, signal }: Omit<CheckOptions, "details" | "deadlineMs"> = {},
  ): Promise<DomainAnswer> {
    const header = keyOf(idempotencyKey);
    const init = { params: { header }, body: { domain }, ...signalOf(signal) };
    return answer(await this.api.POST("/v1/domains", init));
  }

  /** Returns the plan and the remaining allowances. */
  async quota({ signal }: Signal = {}): Promise<QuotaReport> {
    return answer(await this.api.GET("/v1/me/quota", signalOf(signal)));
  }

  /** Permanently ends this client's own API key. If it was the account's first key, signing in returns a new one. */
  async endKey({ signal }: Signal = {}): Promise<void> {
    answer(await this.api.POST("/v1/keys/self-revoke", signalOf(signal)));
  }

  /** Starts a scan of a list and sends all its parts. */
  async startScan(
    addresses: readonly string[],
    { name = "", details = true, idempotencyKey, signal }: NewScan = {},
  ): Promise<Scan> {
    const header = keyOf(idempotencyKey);
    const isOnePart = addresses.length <= PART;
    const list = isOnePart ? { addresses: [...addresses] } : { total: addresses.length };
    const init = { params: { header }, body: { name, details, ...list }, ...signalOf(signal) };
    let scan: Scan = answer(await this.api.POST("/v1/scans", init));
    if (isOnePart) return scan;
    for (const [n, part] of partsOf(addresses).entries()) {
      const params = { path: { id: scan.id, n } };
      const init = { params, body: { addresses: part }, ...signalOf(signal) };
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
  async joinScan(id: string, addresses: readonly string[], { signal }: Signal = {}): Promise<Joined[]> {
    const { total } = await this.scan(id, { signal });
    if (total !== addresses.length)
      throw new RangeError(`The scan is of ${total} addresses, and the list has ${addresses.length}.`);
    for (const [n, part] of partsOf(addresses).entries())
      if (!(await this.#isPart(id, n, part, signal))) {
        const [first, last] = [n * PART + 1, n * PART + part.length];
        throw new RangeError(
          `This isn't the list that was scanned, or not in its order: addresses ${first} to ${last} differ.`,
        );
      }
    return joined(addresses, await this.scanResults(id, { signal }));
  }

  async #isPart(id: string, n: number, addresses: string[], signal?: AbortSignal): Promise<boolean> {
    const init = { params: { path: { id, n } }, body: { addresses }, ...signalOf(signal) };
    try {
      return answer(await this.api.POST("/v1/scans/{id}/parts/{n}/match", init)).matches;
    } catch (error) {
      if (error instanceof RcptError && isIncomparable(error)) return true;
      throw error;
    }
  }

  /** Returns the current state of a scan. */
  async scan(id: string, { signal }: Signal = {}): Promise<Scan> {
    return answer(await this.api.GET("/v1/scans/{id}", { params: { path: { id } }, ...signalOf(signal) }));
  }

  /** Returns all scans, newest first. */
  async scans({ signal }: Signal = {}): Promise<Scan[]> {
    const found: Scan[] = [];
    let before: string | undefined;
    do {
      const query = { limit: 100, ...(before === undefined ? {} : { before }) };
      const page = answer(await this.api.GET("/v1/scans", { params: { query }, ...signalOf(signal) }));
      found.push(...page.scans);
      before = page.next ?? undefined;
    } while (before !== undefined);
    return found;
  }

  /** Returns all results of a scan, by position. */
  async scanResults(id: string, { signal }: Signal = {}): Promise<ScanResult[]> {
    const found: ScanResult[] = [];
    let after: number | undefined;
    do {
      const query = { limit: PAGE, ...(after === undefined ? {} : { after }) };
      const init = { params: { path: { id }, query }, ...signalOf(signal) };
      // The default format is JSON.
      const page = answer(await this.api.GET("/v1/scans/{id}/results", init)) as Schemas["ScanResults"];
      found.push(...page.results);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return found;
  }

  /** Cancels a scan; verdicts found so far are kept. */
  async cancelScan(id: string, { signal }: Signal = {}): Promise<Scan> {
    const init = { params: { path: { id } }, ...signalOf(signal) };
    return answer(await this.api.POST("/v1/scans/{id}/cancel", init));
  }

  /** Deletes a scan with its results; a running one is cancelled. */
  async deleteScan(id: string, { signal }: Signal = {}): Promise<void> {
    const init = { params: { path: { id } }, ...signalOf(signal) };
    answer(await this.api.DELETE("/v1/scans/{id}", init));
  }
}

/**
 * Returns whether a part can't be compared: by an older service, or because it has fewer than two
 * different addresses.
 */
function isIncomparable({ status, code }: RcptError): boolean {
  return code === "nothing_to_match" || status === 404 || status === 405;
}

function keyOf(idempotencyKey: string | undefined): { "Idempotency-Key"?: string } {
  return idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
}

function signalOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** Returns the response's data, or throws its error. Also for responses of {@link Rcpt.api}. */
export function answer<T>(told: { data?: T; error?: unknown; response: Response }): T {
  const { data, error, response } = told;
  // A 204 has no body.
  if (response.ok && (data !== undefined || response.status === 204)) return data as T;
  throw errorOf(response, error);
}
