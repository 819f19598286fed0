/** Verifies events of the service, signed as in Standard Webhooks. */

/** The request isn't an event that the service has signed recently. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

export interface WebhookEvent {
  /** `scan.completed`, `scan.expired`, `allowance.nearly_used`, `allowance.used_up` or `webhook.test`. More may follow. */
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
}

/** Headers of a request from Node.js, Express or `fetch`. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** Maximum difference in seconds between `webhook-timestamp` and this machine's clock; a larger one may mean a replay. */
const TOLERANCE = 5 * 60;

const HMAC = { name: "HMAC", hash: "SHA-256" };

/**
 * Returns the event of a request, after verifying its signature under one of the secrets.
 *
 * `body` is the request's raw body, before any parsing. While a secret is being replaced, pass the new and the old
 * one. `now` is in milliseconds since 1970.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { now = Date.now() }: { now?: number } = {},
): Promise<WebhookEvent> {
  if (typeof body !== "string" && !ArrayBuffer.isView(body))
    throw new TypeError(
      "Pass the request's raw body, as text or bytes: its signature doesn't fit parsed JSON.",
    );
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  if (!/^\d+$/.test(timestamp))
    throw new WebhookError("The header webhook-timestamp isn't a number of seconds.");
  if (Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE)
    throw new WebhookError("The event wasn't signed within the last five minutes.");
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  let isSigned = false;
  for (const secret of typeof secrets === "string" ? [secrets] : secrets) {
    const key = await crypto.subtle.importKey("raw", keyOf(secret), HMAC, false, ["verify"]);
    for (const signature of signatures) {
      const bytes = signature.startsWith("v1,") ? bytesOf(signature.slice(3)) : undefined;
      // `verify` compares in constant time.
      if (bytes !== undefined)
        isSigned = (await crypto.subtle.verify("HMAC", key, bytes, signed)) || isSigned;
    }
  }
  if (!isSigned) throw new WebhookError("No signature of the request is made with this secret.");
  try {
    return JSON.parse(text) as WebhookEvent;
  } catch {
    throw new WebhookError("The event isn't JSON.");
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof found !== "string") throw new WebhookError(`The request has no header ${name}.`);
  return found;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = bytesOf(secret.replace(/^whsec_/, ""));
  if (key === undefined || key.length === 0) throw new TypeError("A webhook's secret is whsec_ and base64.");
  return key;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
