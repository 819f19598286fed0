// Tests the TypeScript client against services that are hostile, slow or newer. Arguments: the package, and the URLs by
// behaviour, as JSON.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

// As Node.js 20.0, which has no `AbortSignal.any`.
delete AbortSignal.any;

const { Rcpt, RcptError, WebhookError, verifyWebhook } = await import(
  pathToFileURL(`${process.argv[2]}/dist/index.js`)
);
const urls = JSON.parse(process.argv[3]);
const at = (name, timeout = 4) => new Rcpt({ url: urls[name], apiKey: "key", timeout });

/** Returns the error of a call, and the seconds until it was thrown. */
async function failed(call) {
  const start = performance.now();
  const error = await call.then(
    () => assert.fail("no error"),
    (error) => error,
  );
  return { error, seconds: (performance.now() - start) / 1000 };
}

const calls = ["silent", "drip", "busy", "in_use", "closed"].map(async (name) => {
  const { error, seconds } = await failed(at(name).check("a@b.example"));
  assert(error instanceof RcptError, `${name}: ${error}`);
  assert(seconds < 6, `${name}: ${seconds} s`);
  assert.equal(error.status, name === "busy" ? 503 : 0, name);
  assert.doesNotMatch(error.message, /Idempotency/, name);
});
await Promise.all(calls);

// A caller's own `Idempotency-Key` may be in use elsewhere, which the caller must handle.
const own = at("in_use_elsewhere").check("a@b.example", { idempotencyKey: "0123456789abcdef" });
assert.equal((await failed(own)).error.code, "idempotency_key_in_use");

const { error, seconds } = await failed(at("silent", 60).check("a@b.example", { signal: AbortSignal.timeout(200) }));
assert.equal(error.name, "TimeoutError");
assert(seconds < 2, `${seconds} s`);

const quick = await failed(at("silent", 60).check("a@b.example", { timeout: 0.3 }));
assert(quick.error instanceof RcptError && quick.seconds < 2, `${quick.error} after ${quick.seconds} s`);
assert.throws(() => at("silent", 0), RangeError);
await assert.rejects(at("silent").decide("a@b.example", { timeout: 0 }), RangeError);

// A key that no service has issued, or an address that isn't one, is an error at once. Nothing is shown, not even to
// somebody who prints the whole error.
const made = (url, apiKey) => () => new Rcpt({ url, apiKey });
for (const apiKey of ["rcpt_live_secret\n", " rcpt_live_secret", "rcpt_live_se\r\ncret", "rcpt_live_secret\u00fc", "", undefined])
  assert.throws(made(urls.quota, apiKey), (error) => error instanceof TypeError && !/cret/.test(inspect(error)));
for (const url of ["rcpt_live_secret", "https://ann:secret@rcpt.example.net", "http://x.example/?secret", "https://se cret"])
  assert.throws(made(url, "rcpt_live_x"), (error) => error instanceof TypeError && !/cret/.test(inspect(error)));
const { error: unsendable } = await failed(at("quota").check("a@b.example", { idempotencyKey: "ann@secret.example\n" }));
assert(unsendable instanceof TypeError && !/secret/.test(inspect(unsendable)), inspect(unsendable));
for (const end of ["/", "/v1", "/v1/"])
  assert.equal((await new Rcpt({ url: urls.paths + end, apiKey: "key" }).quota()).plan, "/v1/me/quota");

// What is missing is said, and isn't called an unreachable service.
const { fetch } = globalThis;
delete globalThis.fetch;
assert.throws(made(urls.quota, "key"), /needs Node\.js 20 or newer/);
globalThis.fetch = fetch;

const { error: limit } = await failed(at("used_up").quota());
const { status, code, requestId, retryAfter, resetsAt, docUrl } = limit;
assert.deepEqual([status, code, limit.limit, requestId], [429, "allowance_used_up", "email check", "request-1"]);
assert.deepEqual([retryAfter, resetsAt, docUrl], [40_000, new Date("2026-11-24T00:00:00Z"), "https://rcpt.example.net/docs"]);
assert.equal((await failed(at("page").quota())).error.status, 404);

const answer = await at("newer").check("a@b.example", { details: true });
assert.deepEqual([answer.details.reason, answer.news], ["a_new_reason", [1]]);

// A list is matched only with its own results.
const list = ["a@b.example", "c@d.example"];
const rows = await at("scan").joinScan("scan_1", list);
assert.deepEqual(
  rows.map(({ address, result }) => [address, result.verdict, result.status]),
  [["a@b.example", "deliverable", true], ["c@d.example", "undeliverable", false]],
);
assert.equal((await at("scan").waitForScan("scan_1")).state, "completed");
const { error: other } = await failed(at("scan").joinScan("scan_1", [...list].reverse()));
assert.match(other.message, /addresses 1 to 2 differ/);
assert((await failed(at("scan").joinScan("scan_1", ["a@b.example"]))).error instanceof RangeError);

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const otherSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const headers = {
  "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
  "webhook-timestamp": "1614265330",
  "webhook-signature": "v2,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};
const body = '{"test": 2432232314}';
const now = 1614265330_000;
for (const secrets of [secret, [otherSecret, secret]])
  for (const given of [body, new TextEncoder().encode(body)])
    assert.deepEqual(await verifyWebhook(given, headers, secrets, { now }), { test: 2432232314 });
const refused = (promise) => assert.rejects(promise, WebhookError);
await refused(verifyWebhook(body, headers, otherSecret, { now }));
await refused(verifyWebhook(`${body} `, headers, secret, { now }));
await refused(verifyWebhook(body, headers, secret, { now: now + 301_000 }));
await refused(verifyWebhook(body, headers, secret, { now: now - 301_000 }));
await refused(verifyWebhook(body, { ...headers, "webhook-signature": "v1,AAAA" }, secret, { now }));
await refused(verifyWebhook(body, new Headers(), secret, { now }));
const key = Buffer.from(secret.slice(6), "base64");
const bytes = Buffer.from([0xff, 0x22]);
const signature = createHmac("sha256", key).update("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.").update(bytes).digest("base64");
await refused(verifyWebhook(bytes, { ...headers, "webhook-signature": `v1,${signature}` }, secret, { now }));
for (const parsed of [JSON.parse(body), undefined, 7])
  await assert.rejects(verifyWebhook(parsed, headers, secret, { now }), /Pass the request's raw body/);
