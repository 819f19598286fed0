// The event of a webhook and how to verify it, as the webhooks page shows them. A test runs the programs.

export const EVENT = {
  type: "scan.completed",
  timestamp: "2026-11-22T10:00:00Z",
  data: {
    id: "scan_01a2b3c4d5e6f708192a3b4c5d6e",
    state: "completed",
    total: 200,
    answered: 200,
    counts: {
      true: 171,
      false: 20,
      invalid_format: 2,
      domain_not_found: 3,
      no_mx_records: 1,
      smtp_connect_error: 0,
      smtp_timeout: 1,
      blocked_by_provider: 2,
      fatal_exception: 0,
    },
    by_verdict: { deliverable: 160, undeliverable: 26, risky: 11, unknown: 3 },
  },
};

export const HEADERS = [
  ["webhook-id", "The same with each attempt: ignore an id that you’ve seen before."],
  [
    "webhook-timestamp",
    "When it was sent, in seconds since 1970. Refuse one that’s more than five minutes off.",
  ],
  [
    "webhook-signature",
    "“v1,” and a signature. While a secret is being replaced there are two, with a space between.",
  ],
] as const;

export const VERIFY = {
  TypeScript: `import { createHmac, timingSafeEqual } from "node:crypto";

// The webhook secret of your settings, and the request's raw body.
export function isGenuine(secret: string, headers: Record<string, string | undefined>, body: string): boolean {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < 300)) return false;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const wanted = createHmac("sha256", key).update(\`\${id}.\${timestamp}.\${body}\`).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((signature) => {
    const given = Buffer.from(signature.replace("v1,", ""), "base64");
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}`,
  Python: `import base64
import hashlib
import hmac
import time


def is_genuine(secret, headers, body):
    """\`secret\` is the webhook secret of your settings, \`body\` the request's body as bytes."""
    try:
        id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        if abs(time.time() - int(timestamp)) > 300:
            return False
        signatures = headers["webhook-signature"].split(" ")
    except (KeyError, ValueError):
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{id}.{timestamp}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(signature.encode(), wanted.encode()) for signature in signatures)`,
} as const;

/** Both commands also occur in the help of `rcpt`. */
export const LISTEN = `rcpt listen --forward-to http://localhost:3000/hook
rcpt trigger scan.completed --forward-to http://localhost:3000/hook`;
