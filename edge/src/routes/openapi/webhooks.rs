//! The events that are sent to webhooks, in the form of Standard Webhooks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

const EVENTS: [(&str, &str); 5] = [
    ("scan.completed", "A scan has completed"),
    ("scan.expired", "A scan has ended because its time was over"),
    ("allowance.nearly_used", "80 % of the daily checks are used"),
    ("allowance.used_up", "All daily checks are used"),
    ("webhook.test", "Sent on request, with empty `data`"),
];

/// Id, timestamp, body and the secret's bytes.
const VECTOR: (&str, u64, &str, &[u8; 32]) = (
    "msg_0000000000000000000000000000cafe",
    1_769_851_800,
    r#"{"type":"webhook.test","timestamp":"2026-01-31T09:30:00Z","data":{}}"#,
    b"not a secret, only an example !!",
);

fn signature() -> String {
    let (id, timestamp, body, secret) = VECTOR;
    let mut mac = <Hmac<Sha256>>::new_from_slice(secret).unwrap();
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

pub fn described() -> Value {
    let events =
        EVENTS.map(|(name, summary)| (name.to_owned(), json!({ "post": event(name, summary) })));
    Value::Object(events.into_iter().collect())
}

pub fn schema() -> Value {
    json!({
        "type": "object",
        "description": "What is sent to a webhook. There is no address in it.",
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {
                "type": "string",
                "description": "New ones may be added.",
                "x-extensible-enum": EVENTS.map(|(name, _)| name),
            },
            "timestamp": { "type": "string", "format": "date-time", "description": "When it happened." },
            "data": {
                "type": "object",
                "description": "Of a scan its `id`, `state`, `total`, `answered`, `counts` and `by_verdict`. Of an allowance `daily_allowance` and `used_today`. Empty in a test.",
                "properties": {
                    "id": { "type": "string" },
                    "state": { "type": "string", "x-extensible-enum": ["completed", "expired"] },
                    "daily_allowance": { "type": "integer" },
                    "used_today": { "type": "integer" },
                    "total": { "type": "integer" },
                    "answered": { "type": "integer" },
                    "by_verdict": {
                        "type": "object",
                        "description": "The same in one word each.",
                        "additionalProperties": { "type": "integer" },
                    },
                    "counts": {
                        "type": "object",
                        "description": "Final verdicts by `status`.",
                        "additionalProperties": { "type": "integer" },
                    },
                },
            },
        },
    })
}

fn event(name: &str, summary: &str) -> Value {
    let (id, timestamp, body, secret) = VECTOR;
    let secret = format!("whsec_{}", STANDARD.encode(secret));
    let signature = signature();
    let header = |name: &str, description: &str, example: Value| {
        json!({
            "name": name, "in": "header", "required": true, "description": description,
            "schema": { "type": "string" }, "example": example,
        })
    };
    json!({
        "tags": ["Scans"],
        "operationId": name.replace('.', "-"),
        "summary": summary,
        "description": format!(
            "To check it, decode the base64 behind `whsec_`: that is the key. Make the HMAC-SHA256 of \
             `webhook-id.webhook-timestamp.body` with it, over the body's bytes as they came. Compare its base64 with each \
             `v1,` signature. Refuse a timestamp that is more than five minutes away, and ignore an id that came \
             before. In Python: `hmac.new(base64.b64decode(secret[6:]), f\"{{id}}.{{timestamp}}.\".encode() + body, \
             \"sha256\").digest()`.\n\nTo test your code: with the secret `{secret}`, the id `{id}`, the timestamp \
             `{timestamp}` and the body `{body}` the signature is `{signature}`."
        ),
        "parameters": [
            header("webhook-id", "The same with each attempt at one delivery", json!(id)),
            header("webhook-timestamp", "Seconds since 1970, of the attempt", json!(timestamp.to_string())),
            header(
                "webhook-signature",
                "`v1,` and the signature in base64; several with spaces between while a secret is being replaced",
                json!(signature),
            ),
        ],
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/WebhookEvent" },
        } } },
        "responses": {
            "2XX": { "description": "Taken. Any other answer, or none within five seconds, is tried again for a day" },
        },
        "security": [],
    })
}

/// Compares with the output of another implementation: `openssl dgst -sha256 -hmac`.
#[test]
fn the_test_vector_is_signed_as_any_library_signs_it() {
    assert_eq!(signature(), "v1,rnaRdodE5FHYvgJ2uGL9EuylUtigjRUqQTUlQteXPaw=");
}
