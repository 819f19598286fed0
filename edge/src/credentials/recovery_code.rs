//! Recovery codes: ten one-time codes for a lost authenticator.

use std::fmt;

use sha2::{Digest as _, Sha256};
use totp_rs::Secret;

use crate::account::AccountId;

pub const COUNT: usize = 10;
/// 120 bits per code: too many to guess even with its hash, so a plain hash is enough (ASVS 6.5.2
/// requires 112).
const CODE_BYTES: usize = 15;
pub const SET_BYTES: usize = CODE_BYTES * COUNT;
/// Number of base32 letters for 120 bits.
const CODE_LETTERS: usize = 24;
const GROUP_LETTERS: usize = 4;

/// A code as shown to its owner: six groups like `xxxx`, separated by hyphens, in lower-case
/// base32. Hidden from `Debug`.
pub struct RecoveryCode(String);

impl RecoveryCode {
    pub fn set_from_random(bytes: [u8; SET_BYTES]) -> Vec<Self> {
        bytes
            .chunks(CODE_BYTES)
            .map(|code| Self(Secret::from(code).to_base32().to_ascii_lowercase()))
            .collect()
    }

    /// Parses a typed code, ignoring case, spaces and hyphens. `None` if it can't be a recovery code, such as a
    /// six-digit code.
    pub fn parse(typed: &str) -> Option<Self> {
        let plain: String = typed
            .chars()
            .filter(|c| !matches!(c, '-' | ' '))
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let fits = plain.len() == CODE_LETTERS
            && plain.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b));
        fits.then_some(Self(plain))
    }

    pub fn to_text(&self) -> String {
        let letters: Vec<char> = self.0.chars().collect();
        let groups: Vec<String> =
            letters.chunks(GROUP_LETTERS).map(|group| group.iter().collect()).collect();
        groups.join("-")
    }

    /// The only stored form: SHA-256 over account and code, in hexadecimal.
    pub fn hash(&self, account: AccountId) -> String {
        let hash = Sha256::new().chain_update(account.to_string()).chain_update(&self.0);
        hex::encode(hash.finalize())
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNT, RecoveryCode, SET_BYTES};
    use crate::account::AccountId;

    fn set() -> Vec<RecoveryCode> {
        RecoveryCode::set_from_random(std::array::from_fn(|n| u8::try_from(n * 37 % 251).unwrap()))
    }

    #[test]
    fn a_set_has_ten_different_codes_of_120_bits() {
        let texts: std::collections::HashSet<_> = set().iter().map(RecoveryCode::to_text).collect();
        assert_eq!((COUNT, texts.len(), SET_BYTES), (10, 10, 150));
        assert!(texts.iter().all(|text| text.len() == 29), "{texts:?}");
    }

    #[test]
    fn what_a_person_types_finds_the_code_again() {
        let account = AccountId::from_u64(1);
        for code in set() {
            let text = code.to_text();
            for typed in
                [text.clone(), text.to_uppercase(), text.replace('-', " "), text.replace('-', "")]
            {
                let parsed = RecoveryCode::parse(&typed).unwrap();
                assert_eq!(parsed.hash(account), code.hash(account), "{typed}");
            }
            assert_ne!(code.hash(account), code.hash(AccountId::from_u64(2)));
        }
    }

    #[test]
    fn other_texts_are_no_recovery_codes() {
        for text in [
            "",
            "123456",
            "aaaa-bbbb-cccc",
            "aaaa-bbbb-cccc-dddd",
            "aaaa-bbbb-cccc-dddd-eeee-fff1",
            "aaaa-bbbb-cccc-dddd-eeee",
            "ääää",
        ] {
            assert!(RecoveryCode::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn hides_itself_from_debug() {
        assert!(set().iter().all(|code| format!("{code:?}") == "RecoveryCode(…)"));
    }
}
