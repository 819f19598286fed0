//! Verifies events of the service, signed as in [Standard
//! Webhooks](https://www.standardwebhooks.com).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use serde_json::Value;
use sha2::Sha256;

/// Maximum difference between `webhook-timestamp` and the current time. A larger one may mean a replay.
const TOLERANCE: Duration = Duration::from_secs(300);

/// The three headers of a webhook request that its verification needs.
#[derive(Debug, Clone, Copy)]
pub struct WebhookHeaders<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signature: &'a str,
}

/// A verified event of the service.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct WebhookEvent {
    /// `scan.completed`, `scan.expired`, `allowance.nearly_used`, `allowance.used_up` or `webhook.test`. New ones may
    /// be added.
    #[serde(rename = "type")]
    pub kind: String,
    /// Time of the event, as an ISO 8601 date-time.
    pub timestamp: String,
    #[serde(default)]
    pub data: Value,
}

/// The request isn't an event that the service has signed recently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("A webhook's secret is whsec_ and base64.")]
    Secret,
    #[error("The header webhook-timestamp isn't a number of seconds.")]
    Timestamp,
    #[error("The event wasn't signed within the last five minutes.")]
    Time,
    #[error("No signature of the request is made with this secret.")]
    Signature,
    #[error("The event isn't JSON.")]
    Body,
}

/// Verifies a request's signature under one of the secrets and returns the event. While a secret
/// is being replaced, pass the new and the old one. `body` is the request's raw body.
pub fn verify_webhook(
    body: &[u8],
    headers: &WebhookHeaders<'_>,
    secrets: &[&str],
    now: SystemTime,
) -> Result<WebhookEvent, WebhookError> {
    let seconds = headers.timestamp.parse().map_err(|_| WebhookError::Timestamp)?;
    let signed_at =
        UNIX_EPOCH.checked_add(Duration::from_secs(seconds)).ok_or(WebhookError::Time)?;
    let age = now.duration_since(signed_at).unwrap_or_else(|early| early.duration());
    if age > TOLERANCE {
        return Err(WebhookError::Time);
    }
    let mut is_signed = false;
    for secret in secrets {
        let mac = mac(headers.id, headers.timestamp, body, secret)?;
        for signature in headers.signature.split(' ') {
            let bytes = signature.strip_prefix("v1,").and_then(|text| BASE64.decode(text).ok());
            // `verify_slice` compares in constant time.
            is_signed |= bytes.is_some_and(|bytes| mac.clone().verify_slice(&bytes).is_ok());
        }
    }
    if !is_signed {
        return Err(WebhookError::Signature);
    }
    serde_json::from_slice(body).map_err(|_| WebhookError::Body)
}

/// The header `webhook-signature` of an event as the service would send it, for tests of a receiver.
///
/// # Errors
/// [`WebhookError::Secret`]
pub fn sign_webhook(
    id: &str,
    timestamp: u64,
    body: &[u8],
    secret: &str,
) -> Result<String, WebhookError> {
    let mac = mac(id, &timestamp.to_string(), body, secret)?;
    Ok(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
}

fn mac(id: &str, timestamp: &str, body: &[u8], secret: &str) -> Result<Hmac<Sha256>, WebhookError> {
    let key = secret.strip_prefix("whsec_").unwrap_or(secret);
    let key = BASE64.decode(key).ok().filter(|key| !key.is_empty()).ok_or(WebhookError::Secret)?;
    let mut mac = Hmac::new_from_slice(&key).map_err(|_| WebhookError::Secret)?;
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    Ok(mac)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::{WebhookError, WebhookEvent, WebhookHeaders, sign_webhook, verify_webhook};

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    /// Signature from the tests of Standard Webhooks.
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    const TIME: u64 = 1_614_265_330;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn the_vector_of_standard_webhooks_is_signed_alike() {
        let signature = sign_webhook(ID, TIME, br#"{"test": 2432232314}"#, SECRET);
        assert_eq!(signature.as_deref(), Ok(SIGNATURE));
    }

    #[test]
    fn an_event_is_believed_under_either_of_two_secrets_for_five_minutes() {
        let body = br#"{"type":"scan.completed","timestamp":"2021-02-25T15:02:10Z","data":{"id":"scan_1"}}"#;
        let signed = sign_webhook(ID, TIME, body, SECRET).unwrap();
        let both = format!("v1,AAAA v2,x {signed}");
        let verify = |body: &[u8], id, timestamp, signature, secrets: &[&str], now| {
            let headers = WebhookHeaders { id, timestamp, signature };
            verify_webhook(body, &headers, secrets, at(now)).map(|event: WebhookEvent| event.kind)
        };
        let time = TIME.to_string();
        let completed = Ok("scan.completed".to_owned());
        for signature in [&signed, &both] {
            for secrets in [&[SECRET][..], &[OTHER, SECRET], &[SECRET, OTHER]] {
                for now in [TIME - 300, TIME, TIME + 300] {
                    assert_eq!(verify(body, ID, &time, signature, secrets, now), completed);
                }
            }
        }
        let refused = Err(WebhookError::Signature);
        assert_eq!(verify(body, ID, &time, &signed, &[OTHER], TIME), refused);
        assert_eq!(verify(body, "msg_other", &time, &signed, &[SECRET], TIME), refused);
        assert_eq!(verify(b"{}", ID, &time, &signed, &[SECRET], TIME), refused);
        assert_eq!(verify(body, ID, &time, "", &[SECRET], TIME), refused);
        assert_eq!(verify(body, ID, &time, &signed, &[], TIME), refused);
        assert_eq!(
            verify(body, ID, &time, &signed, &[SECRET], TIME + 301),
            Err(WebhookError::Time)
        );
        assert_eq!(
            verify(body, ID, &time, &signed, &[SECRET], TIME - 301),
            Err(WebhookError::Time)
        );
        assert_eq!(
            verify(body, ID, "soon", &signed, &[SECRET], TIME),
            Err(WebhookError::Timestamp)
        );
        assert_eq!(verify(body, ID, &time, &signed, &["whsec_"], TIME), Err(WebhookError::Secret));
    }
}
