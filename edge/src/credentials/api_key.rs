//! API keys: derived, not stored (docs/decisions/0002-derived-keys.md), and containing their own rights and end.
//!
//! `rcpt_live_` or `rcpt_test_` + account and key (22 characters) + rights, end and version (13 characters) + 128-bit
//! MAC over all of it (22 characters) + checksum (6 characters), everything after the prefix in fixed-width base62. A
//! key that was never issued, that lacks the required right or that has expired is rejected without storage.

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
/// Digits for 72 bits: 62^13 > 2^72.
const TERMS_WIDTH: usize = 13;
const MAC_WIDTH: usize = 22;
/// Digits for 32 bits: 62^6 > 2^32.
const CHECKSUM_WIDTH: usize = 6;
const MAC_BYTES: usize = 16;

/// A right of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Checks,
    Scans,
    ReadScans,
    Quota,
    Guard,
    Webhooks,
    /// Checks and decisions about the sandbox, and nothing else: a test key.
    Sandbox,
}

impl Right {
    pub const ALL: [Self; 7] = [
        Self::Checks,
        Self::Scans,
        Self::ReadScans,
        Self::Quota,
        Self::Guard,
        Self::Webhooks,
        Self::Sandbox,
    ];

    /// The right's name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checks => "checks",
            Self::Scans => "scans",
            Self::ReadScans => "scans:read",
            Self::Quota => "quota",
            Self::Guard => "guard",
            Self::Webhooks => "webhooks",
            Self::Sandbox => "sandbox",
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
    /// The rights of an account's own key, including those that don't exist yet.
    pub const OWN: Self = Self(u8::MAX);
    const TEST: Self = Self(Self::bit(Right::Sandbox));

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

    /// True for a test key, which has the right `sandbox` alone.
    pub const fn is_test(self) -> bool {
        self.0 == Self::TEST.0
    }

    /// Names of the rights, in the order of [`Right::ALL`]. A key with further rights isn't bound to the sandbox.
    pub fn names(self) -> Vec<&'static str> {
        let is_shown =
            |right: &Right| self.has(*right) && (*right != Right::Sandbox || self.is_test());
        Right::ALL.into_iter().filter(is_shown).map(Right::as_str).collect()
    }
}

/// Identifies a key within its account: 64 random bits, stored as 16 hexadecimal digits; 0 for the account's own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(u64);

impl KeyId {
    const PREFIX: &str = "key_";
    /// The account's own key, as the API shows it.
    const SHOWN_OWN: &str = "own";
    pub const OWN: Self = Self(0);

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
        match text {
            Self::SHOWN_OWN => Some(Self::OWN),
            _ => Self::parse(text.strip_prefix(Self::PREFIX)?).filter(|id| *id != Self::OWN),
        }
    }

    pub fn public_id(self) -> String {
        match self {
            Self::OWN => Self::SHOWN_OWN.to_owned(),
            id => format!("{}{id}", Self::PREFIX),
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ApiKey {
    pub account: AccountId,
    pub id: KeyId,
    /// Incremented by each replacement.
    pub version: u32,
    pub rights: Rights,
    /// Expiry in Unix seconds; 0 means never.
    pub expires_at: u32,
}

impl ApiKey {
    pub const fn own(account: AccountId, version: u32) -> Self {
        Self { account, id: KeyId::OWN, version, rights: Rights::OWN, expires_at: 0 }
    }

    /// Text of the key under the ring's signing secret, for a response to the owner.
    pub fn text(self, keys: &KeyRing) -> String {
        let mac = self.over(keys.signing_mac()).finalize().into_bytes();
        let mac = mac.first_chunk::<MAC_BYTES>().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        let mut text = String::from(if self.rights.is_test() { TEST } else { LIVE });
        let subject = u128::from(self.account.as_u64()) << 64 | u128::from(self.id.0);
        base62::push(&mut text, subject, SUBJECT_WIDTH);
        base62::push(&mut text, self.terms(), TERMS_WIDTH);
        base62::push(&mut text, mac, MAC_WIDTH);
        let checksum = crc32(&text);
        base62::push(&mut text, checksum.into(), CHECKSUM_WIDTH);
        text
    }

    /// Verifies a presented key: shape, checksum, then the MAC under each live secret. Needs no
    /// storage.
    pub fn verify(keys: &KeyRing, presented: &str) -> Option<Self> {
        let body = presented.strip_prefix(LIVE).or_else(|| presented.strip_prefix(TEST))?;
        let width = SUBJECT_WIDTH + TERMS_WIDTH + MAC_WIDTH + CHECKSUM_WIDTH;
        if body.len() != width || !body.is_ascii() {
            return None;
        }
        let (covered, checksum) = presented.split_at_checked(presented.len() - CHECKSUM_WIDTH)?;
        if base62::parse(checksum)? != u128::from(crc32(covered)) {
            return None;
        }
        let (subject, rest) = body.split_at_checked(SUBJECT_WIDTH)?;
        let (terms, rest) = rest.split_at_checked(TERMS_WIDTH)?;
        let (mac, _) = rest.split_at_checked(MAC_WIDTH)?;
        let subject = base62::parse(subject)?;
        let terms = base62::parse(terms)?;
        let mac = base62::parse(mac)?.to_be_bytes();
        let of_terms = |from: u32| u32::try_from(terms >> from & u128::from(u32::MAX)).ok();
        let key = Self {
            account: AccountId::from_u64(u64::try_from(subject >> 64).ok()?),
            id: KeyId(u64::try_from(subject & u128::from(u64::MAX)).ok()?),
            version: of_terms(0)?,
            rights: Rights(u8::try_from(terms >> 64).ok()?),
            expires_at: of_terms(32)?,
        };
        let is_ours = |secret| key.over(secret).verify_truncated_left(&mac).is_ok();
        let has_its_prefix = presented.starts_with(TEST) == key.rights.is_test();
        (has_its_prefix && keys.macs().any(is_ours)).then_some(key)
    }

    /// True if a text looks like a key, genuine or not.
    pub fn is_meant(presented: &str) -> bool {
        presented.starts_with(LIVE) || presented.starts_with(TEST)
    }

    /// True if the key has expired at `now`, in Unix seconds.
    pub const fn is_expired(self, now: u64) -> bool {
        self.expires_at != 0 && self.expires_at as u64 <= now
    }

    fn terms(self) -> u128 {
        u128::from(self.rights.0) << 64
            | u128::from(self.expires_at) << 32
            | u128::from(self.version)
    }

    fn over(self, mut mac: Hmac<Sha256>) -> Hmac<Sha256> {
        mac.update(b"rcpt api key\0");
        mac.update(&self.account.as_u64().to_be_bytes());
        mac.update(&self.id.0.to_be_bytes());
        mac.update(&[self.rights.0]);
        mac.update(&self.expires_at.to_be_bytes());
        mac.update(&self.version.to_be_bytes());
        mac
    }
}

/// CRC-32 (ISO 3309), bit by bit: a crate's tables would be 16 KB of the Worker.
fn crc32(text: &str) -> u32 {
    !text.bytes().fold(u32::MAX, |sum, byte| {
        let bits = 0..u8::BITS;
        bits.fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{ApiKey, KeyId, Right, Rights};
    use crate::account::AccountId;

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    fn keys() -> KeyRing {
        ring(&"w".repeat(43))
    }

    const ACCOUNT: AccountId = AccountId::from_u64(0xdead_beef_0123_4567);
    const KEY: ApiKey = ApiKey {
        account: ACCOUNT,
        id: KeyId(0x0123_4567_89ab_cdef),
        version: 3,
        rights: Rights(0b10_0001),
        expires_at: 1_800_000_000,
    };

    #[test]
    fn a_key_verifies_and_says_what_it_may_do() {
        let greatest = ApiKey {
            account: AccountId::from_u64(u64::MAX),
            id: KeyId(u64::MAX),
            version: u32::MAX,
            rights: Rights(u8::MAX),
            expires_at: u32::MAX,
        };
        let least = ApiKey {
            account: AccountId::from_u64(0),
            id: KeyId(0),
            version: 0,
            rights: Rights(0),
            expires_at: 0,
        };
        let test = ApiKey { rights: Rights::default().with(Right::Sandbox), ..KEY };
        for key in [KEY, greatest, least, test, ApiKey::own(ACCOUNT, 7)] {
            let text = key.text(&keys());
            let prefix = if key == test { "rcpt_test_" } else { "rcpt_live_" };
            assert!(text.starts_with(prefix) && text.len() == 73, "{text}");
            assert_eq!(ApiKey::verify(&keys(), &text), Some(key));
            assert!(ApiKey::is_meant(&text));
            let (covered, checksum) = text.split_at(67);
            let due = crc32fast::hash(covered.as_bytes());
            assert_eq!(super::base62::parse(checksum), Some(due.into()), "scanners know it");
        }
        assert!(!ApiKey::is_meant("eyJhbGciOiJIUzI1NiJ9.e30.x"), "a session");
    }

    #[test]
    fn no_changed_character_and_no_other_prefix_verifies() {
        let text = KEY.text(&keys());
        for position in 0..text.len() {
            for replacement in ['0', 'z', 'A', '-', 'é', ' '] {
                let mut changed: Vec<char> = text.chars().collect();
                if changed[position] != replacement {
                    changed[position] = replacement;
                    let changed: String = changed.into_iter().collect();
                    assert_eq!(ApiKey::verify(&keys(), &changed), None, "{changed}");
                }
            }
        }
        // With a correct checksum.
        let (covered, _) = text.split_at(67);
        let mut test = covered.replace("_live_", "_test_");
        let checksum = crc32fast::hash(test.as_bytes());
        super::base62::push(&mut test, checksum.into(), 6);
        assert_eq!(ApiKey::verify(&keys(), &test), None);
        let overflow = format!("rcpt_live_{}", "z".repeat(63));
        for junk in ["", "rcpt_live_", "rcpt_test_", "x", &format!("{text}0"), "🔑", &overflow] {
            assert_eq!(ApiKey::verify(&keys(), junk), None, "{junk}");
        }
    }

    #[test]
    fn both_live_secrets_verify_and_the_first_derives() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let before = KEY.text(&ring(&old));
        let both = ring(&format!("{new},{old}"));
        assert_ne!(before, KEY.text(&both));
        assert_eq!(ApiKey::verify(&both, &before), Some(KEY));
        assert_eq!(ApiKey::verify(&ring(&new), &before), None);
    }

    #[test]
    fn rights_have_names_and_bits_of_their_own() {
        let all = Right::ALL.into_iter().fold(Rights::default(), Rights::with);
        assert_eq!(all.bits(), 0b111_1111);
        let names = Right::ALL.map(Right::as_str);
        let (_, live) = names.split_last().unwrap();
        assert_eq!((all.names().as_slice(), Rights::OWN.names().as_slice()), (live, live));
        let test = Rights::default().with(Right::Sandbox);
        assert!(test.is_test() && test.names() == ["sandbox"] && !Rights::OWN.is_test());
        for (index, right) in Right::ALL.into_iter().enumerate() {
            assert_eq!(Rights::default().with(right).bits(), 1 << index, "{right:?}");
            assert_eq!(Right::parse(right.as_str()), Some(right));
            assert!(Rights::OWN.has(right));
        }
        assert!(!Rights::default().with(Right::Scans).has(Right::ReadScans));
        assert_eq!(Right::parse("scan"), None);
    }

    #[test]
    fn the_own_key_has_a_name_instead_of_its_zeros() {
        assert_eq!(
            (KeyId::OWN.public_id(), KeyId::parse_shown("own")),
            ("own".into(), Some(KeyId::OWN))
        );
        assert_eq!(KeyId::parse_shown("key_0000000000000000"), None);
        assert_eq!(KeyId::parse_shown(&KEY.id.public_id()), Some(KEY.id));
    }

    #[test]
    fn a_key_is_over_with_its_end() {
        assert!(!KEY.is_expired(1_799_999_999));
        assert!(KEY.is_expired(1_800_000_000));
        assert!(!ApiKey::own(ACCOUNT, 1).is_expired(u64::MAX));
    }
}
