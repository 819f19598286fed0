//! API keys: derived, not stored (docs/decisions/0002-derived-keys.md).
//!
//! `rcpt_live_` + account id and key version (17 characters) + 128-bit MAC over both (22
//! characters) + checksum (6 characters), everything after the prefix in fixed-width base62. A key
//! that was never issued is detected without a query, a replaced key by its version.

use std::fmt;

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use super::{base62, named_key::NamedKey};
use crate::account::AccountId;

const PREFIX: &str = "rcpt_live_";
/// Digits for 96 bits: 62^17 > 2^96.
const SUBJECT_WIDTH: usize = 17;
/// Digits for 128 bits: 62^22 > 2^128.
const MAC_WIDTH: usize = 22;
/// Digits for 32 bits: 62^6 > 2^32.
const CHECKSUM_WIDTH: usize = 6;
const MAC_BYTES: usize = 16;

/// Contents of a genuine key: its account and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyIdentity {
    pub account: AccountId,
    pub version: u32,
}

/// The text of a key. Hidden from `Debug`.
pub struct ApiKey(String);

impl ApiKey {
    /// Derives the only key of this account and version, under the ring's signing secret.
    pub fn derive(keys: &KeyRing, identity: KeyIdentity) -> Self {
        let tag = over(keys.signing_mac(), identity).finalize().into_bytes();
        let tag = tag.first_chunk::<MAC_BYTES>().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        let subject = u128::from(identity.account.as_u64()) << 32 | u128::from(identity.version);
        let mut text = String::from(PREFIX);
        base62::push(&mut text, subject, SUBJECT_WIDTH);
        base62::push(&mut text, tag, MAC_WIDTH);
        let checksum = crc32fast::hash(text.as_bytes());
        base62::push(&mut text, checksum.into(), CHECKSUM_WIDTH);
        Self(text)
    }

    /// Verifies a presented key: shape, checksum, then the MAC under each live secret. Needs no
    /// storage.
    pub fn verify(keys: &KeyRing, presented: &str) -> Option<KeyIdentity> {
        let body = presented.strip_prefix(PREFIX)?;
        if body.len() != SUBJECT_WIDTH + MAC_WIDTH + CHECKSUM_WIDTH || !body.is_ascii() {
            return None;
        }
        let (covered, checksum) = presented.split_at_checked(presented.len() - CHECKSUM_WIDTH)?;
        if base62::parse(checksum)? != u128::from(crc32fast::hash(covered.as_bytes())) {
            return None;
        }
        let (subject, rest) = body.split_at_checked(SUBJECT_WIDTH)?;
        let (tag, _) = rest.split_at_checked(MAC_WIDTH)?;
        let subject = base62::parse(subject)?;
        let tag = base62::parse(tag)?.to_be_bytes();
        let account = AccountId::from_u64(u64::try_from(subject >> 32).ok()?);
        let version = u32::try_from(subject & u128::from(u32::MAX)).ok()?;
        let identity = KeyIdentity { account, version };
        keys.macs()
            .any(|mac| over(mac, identity).verify_truncated_left(&tag).is_ok())
            .then_some(identity)
    }

    /// True if a text looks like a key, genuine or not.
    pub fn is_meant(presented: &str) -> bool {
        presented.starts_with(PREFIX) || NamedKey::is_meant(presented)
    }

    /// The text, for a response to the owner.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

fn over(mut mac: Hmac<Sha256>, identity: KeyIdentity) -> Hmac<Sha256> {
    mac.update(b"rcpt api key\0");
    mac.update(&identity.account.as_u64().to_be_bytes());
    mac.update(&identity.version.to_be_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::{ApiKey, KeyIdentity};
    use crate::account::AccountId;
    use rcpt_shared::KeyRing;

    fn ring(spec: &str) -> KeyRing {
        let parts: Vec<_> = spec
            .split(' ')
            .map(|kid| format!("{kid}:{}", URL_SAFE_NO_PAD.encode(kid.repeat(32))))
            .collect();
        KeyRing::parse(&parts.join(",")).unwrap()
    }

    const IDENTITY: KeyIdentity =
        KeyIdentity { account: AccountId::from_u64(0xdead_beef_0123_4567), version: 7 };

    #[test]
    fn a_derived_key_verifies_and_says_whose_it_is() {
        for identity in [
            IDENTITY,
            KeyIdentity { account: AccountId::from_u64(0), version: 0 },
            KeyIdentity { account: AccountId::from_u64(u64::MAX), version: u32::MAX },
        ] {
            let key = ApiKey::derive(&ring("a"), identity).into_text();
            assert!(key.starts_with("rcpt_live_") && key.len() == 55, "{key}");
            assert_eq!(ApiKey::verify(&ring("a"), &key), Some(identity));
        }
    }

    #[test]
    fn no_changed_character_verifies() {
        let key = ApiKey::derive(&ring("a"), IDENTITY).into_text();
        for position in 0..key.len() {
            for replacement in ['0', 'z', 'A', '-', 'é', ' '] {
                let mut changed: Vec<char> = key.chars().collect();
                if changed[position] != replacement {
                    changed[position] = replacement;
                    let changed: String = changed.into_iter().collect();
                    assert_eq!(ApiKey::verify(&ring("a"), &changed), None, "{changed}");
                }
            }
        }
    }

    #[test]
    fn junk_does_not_verify() {
        let key = ApiKey::derive(&ring("a"), IDENTITY).into_text();
        let headless = key.strip_prefix('r').unwrap();
        let (short, _) = key.split_at(54);
        for junk in ["", "rcpt_live_", "x", headless, short, &format!("{key}0"), "🔑"] {
            assert_eq!(ApiKey::verify(&ring("a"), junk), None, "{junk}");
        }
        assert_eq!(ApiKey::verify(&ring("b"), &key), None, "wrong MAC, right checksum");
        let overflow = format!("rcpt_live_{}", "z".repeat(45));
        assert_eq!(ApiKey::verify(&ring("a"), &overflow), None);
    }

    #[test]
    fn both_live_secrets_verify_and_the_first_derives() {
        let old = ApiKey::derive(&ring("a"), IDENTITY).into_text();
        let new = ApiKey::derive(&ring("b a"), IDENTITY).into_text();
        assert_ne!(old, new);
        for key in [&old, &new] {
            assert_eq!(ApiKey::verify(&ring("b a"), key), Some(IDENTITY));
        }
    }

    #[test]
    fn hides_itself_from_debug() {
        assert_eq!(format!("{:?}", ApiKey::derive(&ring("a"), IDENTITY)), "ApiKey(…)");
    }
}
