//! Signatures of incoming calls in the form of Standard Webhooks: the payment provider's program, and hooks of the
//! guard.

use axum::http::HeaderName;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

pub const ID: HeaderName = HeaderName::from_static("webhook-id");
pub const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
pub const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Greatest difference in seconds between a message's timestamp and the Worker's clock, as in Standard Webhooks.
pub const TOLERANCE_S: u64 = 5 * 60;

/// Two secrets in each of two rings.
const SIGNATURES_MAX: usize = 4;

#[derive(Debug, Clone, Copy)]
pub struct SignedMessage<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    pub signatures: &'a str,
    pub body: &'a [u8],
}

impl SignedMessage<'_> {
    /// True if a live secret signed the message at most five minutes before or after `now` (Unix seconds).
    pub fn is_genuine(&self, secrets: &KeyRing, now: u64) -> bool {
        self.is_genuine_under(&secrets.macs().collect::<Vec<_>>(), now)
    }

    pub fn is_genuine_under(&self, macs: &[Hmac<Sha256>], now: u64) -> bool {
        let is_now = self.timestamp.parse::<u64>().is_ok_and(|at| at.abs_diff(now) <= TOLERANCE_S);
        let signatures = self.signatures.split(' ').filter_map(|text| text.strip_prefix("v1,"));
        let mut signatures =
            signatures.take(SIGNATURES_MAX).filter_map(|text| STANDARD.decode(text).ok());
        is_now && signatures.any(|signature| self.is_signed_by(macs, &signature))
    }

    fn is_signed_by(&self, macs: &[Hmac<Sha256>], signature: &[u8]) -> bool {
        macs.iter().cloned().any(|mut mac| {
            for part in [self.id.as_bytes(), b".", self.timestamp.as_bytes(), b".", self.body] {
                mac.update(part);
            }
            mac.verify_slice(signature).is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::SignedMessage;

    /// The example of the Standard Webhooks libraries: secret `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`, padded
    /// to 32 bytes here, signed with another implementation (Python's hmac).
    const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo";
    const NOW: u64 = 1_614_265_330;
    const GENUINE: SignedMessage<'_> = SignedMessage {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: "1614265330",
        signatures: "v1,455+aOk04wwxufzYeT7AdJGy67Jm9L1UV9h0WvJANVo=",
        body: br#"{"test": 2432232314}"#,
    };

    #[test]
    fn a_signature_counts_under_any_live_secret_for_five_minutes() {
        let ring = KeyRing::parse(SECRET).unwrap();
        let both = KeyRing::parse(&format!("{},{SECRET}", "0".repeat(43))).unwrap();
        for now in [NOW - 300, NOW, NOW + 300] {
            assert!(GENUINE.is_genuine(&ring, now) && GENUINE.is_genuine(&both, now), "{now}");
        }
        for now in [NOW - 301, NOW + 301, 0] {
            assert!(!GENUINE.is_genuine(&ring, now), "{now}");
        }
        let several = format!("v1a,abc v1,AAAA {}", GENUINE.signatures);
        assert!(SignedMessage { signatures: &several, ..GENUINE }.is_genuine(&ring, NOW));
    }

    #[test]
    fn a_message_with_anything_changed_is_not_genuine() {
        let ring = KeyRing::parse(SECRET).unwrap();
        let other = KeyRing::parse(&"0".repeat(43)).unwrap();
        assert!(!GENUINE.is_genuine(&other, NOW));
        for changed in [
            SignedMessage { id: "msg_2", ..GENUINE },
            SignedMessage { timestamp: "1614265331", ..GENUINE },
            SignedMessage { timestamp: "", ..GENUINE },
            SignedMessage { signatures: "", ..GENUINE },
            SignedMessage { signatures: GENUINE.signatures.split_at(3).1, ..GENUINE },
            SignedMessage { signatures: "v1,", ..GENUINE },
            SignedMessage { body: br#"{"test": 2432232315}"#, ..GENUINE },
        ] {
            assert!(!changed.is_genuine(&ring, NOW), "{changed:?}");
        }
    }
}
