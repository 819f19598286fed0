//! The event that is sent to webhooks, in the form of Standard Webhooks: a schema, because generators break on the
//! description's `webhooks`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

const EVENTS: [&str; 5] = [
    "scan.completed",
    "scan.expired",
    "allowance.nearly_used",
    "allowance.used_up",
    "webhook.test",
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

pub fn schema() -> Value {
    let (id, timestamp, body, secret) = VECTOR;
    let secret = format!("whsec_{}", STANDARD.encode(secret));
    let signature = signature();
    json!({
        "type": "object",
        "description": format!(
            "What is sent to a webhook. There is no address in it.\n\nTo check it, decode the base64 behind `whsec_`: that \
             is the key. Make the HMAC-SHA256 of `webhook-id.webhook-timestamp.body` with it, over the body's bytes as they \
             came. Compare its base64 with each `v1,` signature of the header `webhook-signature`. Refuse a timestamp that \
             is more than five minutes away, and ignore an id that came before.\n\nTo test your code: with the secret \
             `{secret}`, the id `{id}`, the timestamp `{timestamp}` and the body `{body}` the signature is `{signature}`."
        ),
        "required": ["type", "timestamp", "data"],
        "properties": {
            "type": {
                "type": "string",
                "description": "New ones may be added.",
                "x-extensible-enum": EVENTS,
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

/// Compares with the output of another implementation: `openssl dgst -sha256 -hmac`.
#[test]
fn the_test_vector_is_signed_as_any_library_signs_it() {
    assert_eq!(signature(), "v1,rnaRdodE5FHYvgJ2uGL9EuylUtigjRUqQTUlQteXPaw=");
}
