// Example values for what a schema describes.
import { type Document, type Schema, resolve } from "./document";
import { fieldsInOrder } from "./order";

/** Values a reader can make sense of, by the name of the field, or of its parent and itself. */
const VALUES: Record<string, unknown> = {
  email: "ann@example.org",
  password: "three unrelated words",
  current_password: "three unrelated words",
  new_password: "four quite unrelated words",
  totp_code: "123456",
  display_name: "Ann",
  message: "Check your inbox.",
  token: "…",
  api_key: "rcpt_live_…",
  plan: "free",
  unlimited: false,
  "email_checks.daily_allowance": 100,
  "email_checks.used_today": 3,
  "email_checks.left_today": 97,
  welcome_left: 50,
  "scans.daily_allowance": 1,
  "scans.left_today": 1,
  recovery_codes_left: 10,
  recovery_codes: ["abcd-efgh-ijkl-mnop"],
  otpauth_url: "otpauth://totp/…",
  secret: "ABCD…",
  openapi: "3.1.0",
  id: "0f3c5b6a1d2e4f708192a3b4c5d6e7f8",
  browser: "Firefox on Linux",
  country: "DE",
  date: "2026-01-31",
  key_last_used: "2026-01-31",
  "days.email_checks": 12,
};

/** One check as it really ends: the mailbox is not there. Of the sandbox, so that anyone can repeat it. */
const CHECK: Record<string, unknown> = {
  email: "rejects@sandbox.test",
  status: false,
  cached: false,
  verdict: "undeliverable",
  confidence: "high",
  reason: "no_such_mailbox",
  problem: null,
  mx_host: "mx.sandbox.test",
  operator: null,
  smtp_code: 550,
  enhanced_code: "5.1.1",
  smtp_text: "No such user here",
  stage: "rcpt",
  retry_after: null,
  suggestion: null,
  catch_all: "no",
  disposable: false,
  role_account: false,
  free_provider: false,
  tls: true,
  duration_ms: 412,
};

const LIST = { addresses: ["accepts@sandbox.test", "rejects@sandbox.test"] };

/** Examples of operations whose values belong together. */
const TOGETHER: Record<string, { request: Record<string, unknown>; response: Record<string, unknown> }> = {
  validateEmail: { request: { email: "rejects@sandbox.test" }, response: CHECK },
  createScan: { request: LIST, response: {} },
  putScanPart: { request: LIST, response: {} },
};

/** An example of what a schema describes. `values` come before those of all operations. */
function sampleOf(
  document: Document,
  given: Schema,
  values: Record<string, unknown>,
  name = "",
  parent = "",
): unknown {
  const schema = resolve(document, given);
  if (schema.properties !== undefined) {
    return Object.fromEntries(
      fieldsInOrder(schema.properties).map(([key, property]) => [
        key,
        sampleOf(document, property, values, key, name),
      ]),
    );
  }
  const path = `${parent}.${name}`;
  for (const known of [values, VALUES]) for (const key of [path, name]) if (key in known) return known[key];
  const first = schema.oneOf?.[0] ?? schema.anyOf?.[0];
  if (first !== undefined) return sampleOf(document, first, values, name, parent);
  if (schema.enum !== undefined) return schema.enum[0];
  const type = [schema.type].flat().find((candidate) => candidate !== "null");
  if (type === "array") return [sampleOf(document, schema.items ?? {}, values)];
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return 0;
  if (schema.format === "date-time") return "2026-01-31T00:00:00Z";
  return "…";
}

export function responseSample(document: Document, operation: string, schema: Schema): unknown {
  return sampleOf(document, schema, TOGETHER[operation]?.response ?? {});
}

/** The required members, and those that belong to the example; the table has the others. */
export function requestSample(document: Document, operation: string, schema: Schema): unknown {
  const values = TOGETHER[operation]?.request ?? {};
  const required = new Set([...(schema.required ?? []), ...Object.keys(values)]);
  const whole = sampleOf(document, schema, values);
  if (typeof whole !== "object" || whole === null) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => required.has(key)));
}
