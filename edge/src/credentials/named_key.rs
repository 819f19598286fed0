//! Named keys: derived like the first key (docs/decisions/0002-derived-keys.md), and containing
//! their own rights.
//!
//! `rcpt_live_` or `rcpt_test_` + account and key (22 characters) + rights, expiry and version (11
//! characters) + 128-bit MAC over all of it (22 characters) + checksum (6 characters), everything
//! after the prefix in fixed-width base62. Rights and expiry never change, so a key without the
//! required right, or after its expiry, is rejected without storage.

use std::fmt;

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use super::base62;
use crate::account::AccountId;

const LIVE: &str = "rcpt_live_";
const TEST: &str = "rcpt_test_";
/// Digits for 128 bits: 62^22 > 2^128.
const SUBJECT_WIDTH: usize = 22;
/// Digits for 64 bits: 62^11 > 2^64.
const TERMS_WIDTH: usize = 11;
const MAC_WIDTH: usize = 22;
/// Digits for 32 bits: 62^6 > 2^32.
const CHECKSUM_WIDTH: usize = 6;
const MAC_BYTES: usize = 16;
/// Bits of the expiry, in Unix seconds: enough until the year 36812.
const END_BITS: u32 = 40;
/// Bits of the version: enough, as each replacement needs the password.
const VERSION_BITS: u32 = 16;

/// A right of a named key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Checks,
    Scans,
    ReadScans,
    Quota,
    Guard,
    Webhooks,
}

impl Right {
    pub const ALL: [Self; 6] =
        [Self::Checks, Self::Scans, Self::ReadScans, Self::Quota, Self::Guard, Self::Webhooks];

    /// The right's name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Scans => "scans",
            Self::ReadScans => "scans:read",
            Self::Quota => "quota",
            Self::Guard => "guard",
            Self::Webhooks => "webhooks",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|right| right.as_str() == name)
    }
}

/// A set of rights, one bit each; the bits are stored and never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rights(u8);

impl Rights {
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub const fn bits(self) -> u8 {
        self.0
    }

    const fn bit(right: Right) -> u8 {
        1 << right as u8
    }

    #[must_use]
    pub const fn with(self, right: Right) -> Self {
        Self(self.0 | Self::bit(right))
    }

    pub const fn has(self, right: Right) -> bool {
        self.0 & Self::bit(right) != 0
    }

    /// Names of the rights, in the order of [`Right::ALL`].
    pub fn names(self) -> Vec<&'static str> {
        Right::ALL.into_iter().filter(|right| self.has(*right)).map(Right::as_str).collect()
    }
}

/// Identifies a named key within its account: 64 random bits, stored as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(u64);

impl KeyId {
    const PREFIX: &str = "key_";

    pub const fn from_random(bytes: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(bytes))
    }

    /// Parses the 16 hexadecimal digits stored in the database.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_plain.then(|| u64::from_str_radix(text, 16).ok().map(Self))?
    }

    /// Parses an id as the API shows it.
    pub fn parse_shown(text: &str) -> Option<Self> {
        Self::parse(text.strip_prefix(Self::PREFIX)?)
    }

    /// The id as the API shows it.
    pub fn public_id(self) -> String {
        format!("{}{self}", Self::PREFIX)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The contents of a genuine named key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NamedKey {
    pub account: AccountId,
    pub id: KeyId,
    /// Incremented by each replacement.
    pub version: u16,
    pub is_test: bool,
    pub rights: Rights,
    /// Expiry in Unix seconds; 0 means never.
    pub expires_at: u64,
}

impl NamedKey {
    /// Text of the key under the ring's signing secret, for a response to the owner.
    pub fn text(self, keys: &KeyRing) -> String {
        let mac = self.over(keys.signing_mac()).finalize().into_bytes();
        let mac = mac.first_chunk::<MAC_BYTES>().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        let mut text = String::from(if self.is_test { TEST } else { LIVE });
        let subject = u128::from(self.account.as_u64()) << 64 | u128::from(self.id.0);
        base62::push(&mut text, subject, SUBJECT_WIDTH);
        base62::push(&mut text, self.terms().into(), TERMS_WIDTH);
        base62::push(&mut text, mac, MAC_WIDTH);
        let checksum = crc32fast::hash(text.as_bytes());
        base62::push(&mut text, checksum.into(), CHECKSUM_WIDTH);
        text
    }

    /// Verifies a presented key: shape, checksum, then the MAC under each live secret. Needs no
    /// storage.
    pub fn verify(keys: &KeyRing, presented: &str) -> Option<Self> {
        let is_test = presented.starts_with(TEST);
        let body = presented.strip_prefix(if is_test { TEST } else { LIVE })?;
        let width = SUBJECT_WIDTH + TERMS_WIDTH + MAC_WIDTH + CHECKSUM_WIDTH;
        if body.len() != width || !body.is_ascii() {
            return None;
        }
        let (covered, checksum) = presented.split_at_checked(presented.len() - CHECKSUM_WIDTH)?;
        if base62::parse(checksum)? != u128::from(crc32fast::hash(covered.as_bytes())) {
            return None;
        }
        let (subject, rest) = body.split_at_checked(SUBJECT_WIDTH)?;
        let (terms, rest) = rest.split_at_checked(TERMS_WIDTH)?;
        let (mac, _) = rest.split_at_checked(MAC_WIDTH)?;
        let subject = base62::parse(subject)?;
        let terms = u64::try_from(base62::parse(terms)?).ok()?;
        let mac = base62::parse(mac)?.to_be_bytes();
        let key = Self {
            account: AccountId::from_u64(u64::try_from(subject >> 64).ok()?),
            id: KeyId(u64::try_from(subject & u128::from(u64::MAX)).ok()?),
            version: u16::try_from(terms & u64::from(u16::MAX)).ok()?,
            is_test,
            rights: Rights(u8::try_from(terms >> (END_BITS + VERSION_BITS)).ok()?),
            expires_at: (terms >> VERSION_BITS) & ((1 << END_BITS) - 1),
        };
        let is_ours = |secret| key.over(secret).verify_truncated_left(&mac).is_ok();
        keys.macs().any(is_ours).then_some(key)
    }

    /// True if a text looks like a test key, which only this module makes.
    pub fn is_meant(presented: &str) -> bool {
        presented.starts_with(TEST)
    }

    /// True if the key has expired at `now`, in Unix seconds.
    pub const fn is_expired(self, now: u64) -> bool {
        self.expires_at != 0 && self.expires_at <= now
    }

    fn terms(self) -> u64 {
        u64::from(self.rights.0) << (END_BITS + VERSION_BITS)
            | (self.expires_at & ((1 << END_BITS) - 1)) << VERSION_BITS
            | u64::from(self.version)
    }

    fn over(self, mut mac: Hmac<Sha256>) -> Hmac<Sha256> {
        mac.update(b"rcpt named key\0");
        mac.update(&[u8::from(self.is_test)]);
        mac.update(&self.account.as_u64().to_be_bytes());
        mac.update(&self.id.0.to_be_bytes());
        mac.update(&self.terms().to_be_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{KeyId, NamedKey, Right, Rights};
    use crate::{
        account::AccountId,
        credentials::api_key::{ApiKey, KeyIdentity},
    };

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    fn keys() -> KeyRing {
        ring(&format!("a:{}", "w".repeat(43)))
    }

    const KEY: NamedKey = NamedKey {
        account: AccountId::from_u64(0xdead_beef_0123_4567),
        id: KeyId(0x0123_4567_89ab_cdef),
        version: 3,
        is_test: false,
        rights: Rights(0b10_0001),
        expires_at: 1_800_000_000,
    };

    #[test]
    fn a_key_verifies_and_says_what_it_may_do() {
        let greatest = NamedKey {
            account: AccountId::from_u64(u64::MAX),
            id: KeyId(u64::MAX),
            version: u16::MAX,
            is_test: true,
            rights: Rights(u8::MAX),
            expires_at: (1 << 40) - 1,
        };
        let least = NamedKey {
            account: AccountId::from_u64(0),
            id: KeyId(0),
            version: 0,
            is_test: true,
            rights: Rights(0),
            expires_at: 0,
        };
        for key in [KEY, greatest, least] {
            let text = key.text(&keys());
            let prefix = if key.is_test { "rcpt_test_" } else { "rcpt_live_" };
            assert!(text.starts_with(prefix) && text.len() == 71, "{text}");
            assert_eq!(NamedKey::verify(&keys(), &text), Some(key));
            assert_eq!(ApiKey::verify(&keys(), &text), None, "it isn't the first key");
        }
    }

    #[test]
    fn no_changed_character_and_no_other_mode_verifies() {
        let text = KEY.text(&keys());
        for position in 0..text.len() {
            for replacement in ['0', 'z', 'A', '-', 'é', ' '] {
                let mut changed: Vec<char> = text.chars().collect();
                if changed[position] != replacement {
                    changed[position] = replacement;
                    let changed: String = changed.into_iter().collect();
                    assert_eq!(NamedKey::verify(&keys(), &changed), None, "{changed}");
                }
            }
        }
        // With a correct checksum, only the MAC can reveal the forgery.
        let (covered, _) = text.split_at(65);
        let mut test = covered.replace("_live_", "_test_");
        let checksum = crc32fast::hash(test.as_bytes());
        super::base62::push(&mut test, checksum.into(), 6);
        assert_eq!(NamedKey::verify(&keys(), &test), None);
        let first = KeyIdentity { account: KEY.account, version: 1 };
        let first = ApiKey::derive(&keys(), first).into_text();
        for junk in ["", "rcpt_live_", "rcpt_test_", &first, &format!("{text}0"), "🔑"] {
            assert_eq!(NamedKey::verify(&keys(), junk), None, "{junk}");
        }
    }

    #[test]
    fn both_live_secrets_verify_and_the_first_derives() {
        let (old, new) = (format!("old:{}", "w".repeat(43)), format!("new:{}", "0".repeat(43)));
        let before = KEY.text(&ring(&old));
        let both = ring(&format!("{new},{old}"));
        assert_ne!(before, KEY.text(&both));
        assert_eq!(NamedKey::verify(&both, &before), Some(KEY));
        assert_eq!(NamedKey::verify(&ring(&new), &before), None);
    }

    #[test]
    fn rights_have_names_and_bits_of_their_own() {
        let all = Right::ALL.into_iter().fold(Rights::default(), Rights::with);
        assert_eq!(all.bits(), 0b11_1111);
        assert_eq!(all.names(), Right::ALL.map(Right::as_str));
        for (index, right) in Right::ALL.into_iter().enumerate() {
            assert_eq!(Rights::default().with(right).bits(), 1 << index, "{right:?}");
            assert_eq!(Right::parse(right.as_str()), Some(right));
        }
        assert!(!Rights::default().with(Right::Scans).has(Right::ReadScans));
        assert_eq!(Right::parse("scan"), None);
    }

    #[test]
    fn a_key_is_over_with_its_end() {
        assert!(!KEY.is_expired(1_799_999_999));
        assert!(KEY.is_expired(1_800_000_000));
        assert!(!NamedKey { expires_at: 0, ..KEY }.is_expired(u64::MAX));
    }
}
