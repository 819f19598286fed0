// Example values for what a schema describes.
import { type Document, type Schema, resolve } from "./document";

/** Values a reader can make sense of, by the name of the field. */
const VALUES: Record<string, unknown> = {
  email: "ann@example.com",
  password: "three unrelated words",
  current_password: "three unrelated words",
  new_password: "four quite unrelated words",
  totp_code: "123456",
  display_name: "Ann",
  token: "…",
  api_key: "rcpt_live_…",
  plan: "free",
  daily_allowance: 100,
  used_today: 3,
  left_today: 97,
  welcome_left: 50,
  recovery_codes: ["abcd-efgh-ijkl-mnop"],
  otpauth_url: "otpauth://totp/…",
  secret: "ABCD…",
  openapi: "3.1.0",
  mx_host: "mx.example.com",
  smtp_code: 550,
  enhanced_code: "5.1.1",
};

/** An example of what a schema describes. */
export function sampleOf(document: Document, given: Schema, name = ""): unknown {
  const schema = resolve(document, given);
  if (schema.properties !== undefined) {
    return Object.fromEntries(
      Object.entries(schema.properties).map(([key, property]) => [key, sampleOf(document, property, key)]),
    );
  }
  if (name in VALUES) return VALUES[name];
  const first = schema.oneOf?.[0] ?? schema.anyOf?.[0];
  if (first !== undefined) return sampleOf(document, first, name);
  if (schema.enum !== undefined) return schema.enum[0];
  const type = [schema.type].flat().find((candidate) => candidate !== "null");
  if (type === "array") return [sampleOf(document, schema.items ?? {})];
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return 0;
  if (schema.format === "date-time") return "2026-01-31T00:00:00Z";
  return "…";
}

/** What is needed and nothing else: optional members are in the table. */
export function requestSample(document: Document, schema: Schema): unknown {
  const required = new Set(schema.required ?? []);
  const whole = sampleOf(document, schema);
  if (typeof whole !== "object" || whole === null) return whole;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => required.has(key)));
}
