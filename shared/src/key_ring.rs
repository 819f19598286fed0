//! Secrets that can be replaced without an outage: one that signs, and a second that still
//! verifies.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _};
use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::Sha256;

/// Shortest secret accepted: 256 bits, as RFC 7518 §3.2 requires for HS256.
const MIN_SECRET_BYTES: usize = 32;
/// A ring contains the current secret, and a second one during a replacement.
const MAX_SECRETS: usize = 2;

/// Holds one or two named secrets that are valid together, so that a secret can be replaced without an outage. The
/// first secret signs; both verify.
///
/// Configured as `kid:secret[,kid:secret]`, with secrets in unpadded base64url.
#[derive(Clone)]
pub struct KeyRing {
    entries: Vec<Entry>,
}

#[derive(Clone)]
struct Entry {
    kid: String,
    secret: SecretSlice<u8>,
    /// The secret's precomputed key schedule: two of the four compressions of a short MAC.
    keyed: Hmac<Sha256>,
}

/// Mistake in a configured key ring, without any part of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyRingError {
    #[error("expected one or two `kid:secret` pairs separated by a comma")]
    Shape,
    #[error("a kid is 1 to 32 letters, digits, `-` or `_`, and differs from the other kid")]
    Kid,
    #[error("a secret is unpadded base64url of at least {MIN_SECRET_BYTES} bytes")]
    Secret,
}

impl KeyRing {
    /// The errors contain no part of a secret.
    pub fn parse(configured: &str) -> Result<Self, KeyRingError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(MAX_SECRETS);
        for pair in configured.split(',') {
            let (kid, secret) = pair.trim().split_once(':').ok_or(KeyRingError::Shape)?;
            let kid_is_plain = (1..=32).contains(&kid.len())
                && kid.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
            if !kid_is_plain || entries.iter().any(|entry| entry.kid == kid) {
                return Err(KeyRingError::Kid);
            }
            let secret = URL_SAFE_NO_PAD.decode(secret).map_err(|_| KeyRingError::Secret)?;
            if secret.len() < MIN_SECRET_BYTES {
                return Err(KeyRingError::Secret);
            }
            let keyed = Hmac::new_from_slice(&secret).map_err(|_| KeyRingError::Secret)?;
            entries.push(Entry { kid: kid.to_owned(), secret: secret.into(), keyed });
        }
        if entries.len() > MAX_SECRETS {
            return Err(KeyRingError::Shape);
        }
        Ok(Self { entries })
    }

    #[must_use]
    pub fn signing(&self) -> (&str, &[u8]) {
        // `parse` never returns an empty ring, and an empty secret would verify nothing that was
        // signed.
        self.entries.first().map_or(("", &[]), |entry| (&entry.kid, entry.secret.expose_secret()))
    }

    /// The live secret named `kid`.
    #[must_use]
    pub fn secret(&self, kid: &str) -> Option<&[u8]> {
        self.entries.iter().find(|entry| entry.kid == kid).map(|entry| entry.secret.expose_secret())
    }

    pub fn kids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.kid.as_str())
    }

    /// An HMAC under the signing secret, to be updated with the message.
    #[must_use]
    pub fn signing_mac(&self) -> Hmac<Sha256> {
        // A ring is never empty: see `signing`.
        self.macs().next().unwrap_or_else(|| Hmac::new(&Default::default()))
    }

    /// An HMAC under each live secret, the signing secret's first, to be updated with the message.
    pub fn macs(&self) -> impl Iterator<Item = Hmac<Sha256>> {
        self.entries.iter().map(|entry| entry.keyed.clone())
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kids: Vec<_> = self.kids().collect();
        f.debug_struct("KeyRing").field("kids", &kids).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyRing, KeyRingError};

    const A: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";
    const B: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI";

    #[test]
    fn the_first_signs_and_both_verify() {
        let ring = KeyRing::parse(&format!("new:{A}, old:{B}")).unwrap();
        assert_eq!(ring.signing(), ("new", &[b'A'; 32][..]));
        assert_eq!(ring.secret("old"), Some(&[b'B'; 32][..]));
        assert_eq!(ring.secret("gone"), None);
        assert_eq!(ring.macs().count(), 2);
    }

    #[test]
    fn says_what_is_wrong_without_showing_the_secret() {
        for (configured, error) in [
            (String::new(), KeyRingError::Shape),
            (A.to_owned(), KeyRingError::Shape),
            (format!("a:{A},b:{A},c:{A}"), KeyRingError::Shape),
            (format!(":{A}"), KeyRingError::Kid),
            (format!("a b:{A}"), KeyRingError::Kid),
            (format!("a:{A},a:{B}"), KeyRingError::Kid),
            ("a:QUFB".to_owned(), KeyRingError::Secret),
            (format!("a:{A}="), KeyRingError::Secret),
        ] {
            assert_eq!(KeyRing::parse(&configured).unwrap_err(), error, "{configured}");
        }
    }

    #[test]
    fn hides_secrets_from_debug() {
        let shown = format!("{:?}", KeyRing::parse(&format!("k1:{A}")).unwrap());
        assert_eq!(shown, r#"KeyRing { kids: ["k1"], .. }"#);
    }
}
