//! Password rules and argon2id hashing.

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version,
    password_hash::phc::PasswordHash,
};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use icu_normalizer::ComposingNormalizerBorrowed;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};

use super::common_passwords::CommonPasswords;
use crate::{account::AccountAddress, error::Error};

/// Length in characters instead of bytes: a passphrase in Greek may be as long as one in English.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=128;

/// OWASP's second argon2id recommendation: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Salt length in bytes (RFC 9106 §3.1 recommends 16).
pub const SALT_BYTES: usize = 16;

/// A password as its owner typed it. The account stores the hash of the NFC form (UAX #15; NIST SP 800-63B-4 §3.1.1.2):
/// two keyboards may send the same text as different code points. No space is trimmed.
#[derive(Debug)]
pub struct Password(SecretString);

impl From<SecretString> for Password {
    fn from(typed: SecretString) -> Self {
        let normal = ComposingNormalizerBorrowed::new_nfc().normalize(typed.expose_secret());
        Self(SecretString::from(&*normal))
    }
}

impl<'de> Deserialize<'de> for Password {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SecretString::deserialize(deserializer).map(Self::from)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasswordCheck {
    Wrong,
    Right,
    /// Correct, but the stored hash has outdated parameters and can be renewed.
    Outdated,
}

#[derive(Debug)]
pub struct Turn(());

impl Turn {
    /// Only `limits::hashing` may call this function.
    pub const fn grant() -> Self {
        Self(())
    }
}

/// Checks a new password for the account of `address`. No space is trimmed, as at sign-in.
pub fn check_rules(
    password: &Password,
    address: &AccountAddress,
    common: CommonPasswords<'_>,
) -> Result<(), &'static str> {
    let password = password.0.expose_secret();
    if !LENGTH.contains(&password.chars().count()) {
        return Err("The password must have 8 to 128 characters.");
    }
    if resembles(password, address) {
        return Err("The password must not be the email address or a part of it.");
    }
    if common.contains(password) {
        return Err("This password is too common. Attackers try it first.");
    }
    Ok(())
}

/// True for the address, its local part and its domain, ignoring case, separators and surrounding digits, forwards or
/// backwards.
fn resembles(password: &str, address: &AccountAddress) -> bool {
    let core = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
        let plain: String = letters.collect();
        plain.trim_matches(|c: char| c.is_ascii_digit()).to_owned()
    };
    let password = core(password);
    let reversed: String = password.chars().rev().collect();
    address
        .parts()
        .into_iter()
        .map(core)
        // Parts of one or two letters are too common, and a text of digits has no core.
        .filter(|part| part.chars().count() > 2)
        .any(|part| part == password || part == reversed)
}

pub fn hash(_turn: Turn, password: &Password, salt: [u8; SALT_BYTES]) -> Result<String, Error> {
    argon2id()?
        .hash_password_with_salt(password.0.expose_secret().as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(unhashable)
}

/// A hash that no known password has, which makes the current password void. Comparing with it takes as long as with
/// any other hash.
pub fn void_hash(salt: [u8; SALT_BYTES], tag: [u8; 32]) -> String {
    let [salt, tag] = [&salt[..], &tag].map(|bytes| STANDARD_NO_PAD.encode(bytes));
    format!("{}{salt}${tag}", parameters())
}

/// Fails when the stored hash can't be parsed.
pub fn verify(_turn: Turn, password: &Password, stored: &str) -> Result<PasswordCheck, Error> {
    let parsed = PasswordHash::new(stored).map_err(unhashable)?;
    // The parameters come from the stored hash, so hashes with earlier ones stay valid.
    let text = password.0.expose_secret().as_bytes();
    Ok(match argon2id()?.verify_password(text, &parsed) {
        Err(_) => PasswordCheck::Wrong,
        Ok(()) if is_outdated(stored) => PasswordCheck::Outdated,
        Ok(()) => PasswordCheck::Right,
    })
}

/// Does the work of [`verify`] for an address without an account, so that the duration reveals
/// nothing. Always returns [`PasswordCheck::Wrong`].
pub fn verify_nothing(turn: Turn, password: &Password) -> Result<PasswordCheck, Error> {
    hash(turn, password, [0; SALT_BYTES]).map(|_| PasswordCheck::Wrong)
}

fn is_outdated(stored: &str) -> bool {
    !stored.starts_with(&parameters())
}

fn parameters() -> String {
    format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$")
}

/// The runtime is out of memory, or a stored hash is damaged.
fn unhashable(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("password hash: {error}"))
}

fn argon2id() -> Result<Argon2<'static>, Error> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(unhashable)?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::{Password, PasswordCheck, Turn, hash, verify};
    use crate::{account::AccountAddress, credentials::common_passwords::tests::filter};

    impl From<&str> for Password {
        fn from(text: &str) -> Self {
            Self::from(SecretString::from(text))
        }
    }

    #[test]
    fn a_void_hash_is_one_of_todays_and_of_no_password() {
        let stored = super::void_hash([7; super::SALT_BYTES], [9; 32]);
        let real = hash(Turn::grant(), &"correct horse".into(), [7; super::SALT_BYTES]).unwrap();
        assert_eq!(stored.len(), real.len());
        assert!(!super::is_outdated(&stored));
        let check = verify(Turn::grant(), &"correct horse".into(), &stored).unwrap();
        assert_eq!(check, PasswordCheck::Wrong);
    }

    fn check_rules(password: &str, address: &AccountAddress) -> Result<(), &'static str> {
        super::check_rules(&password.into(), address, filter().as_common())
    }

    #[test]
    fn length_counts_characters_and_nothing_is_trimmed() {
        let address = AccountAddress::parse("ann.smith@example.org").unwrap();
        for good in ["8 chars!", "        ", &"ψ".repeat(8), &"ψ".repeat(128)] {
            assert_eq!(check_rules(good, &address), Ok(()), "{good:?}");
        }
        for bad in ["", "1234567", &"x".repeat(129), "ψυχή"] {
            let message = check_rules(bad, &address).unwrap_err();
            assert!(message.contains("8 to 128"), "{bad:?}: {message}");
        }
    }

    #[test]
    fn the_address_and_its_trivial_variants_are_refused_and_the_reason_is_told() {
        let address = AccountAddress::parse("ann.smith@example.org").unwrap();
        for bad in [
            "Ann.Smith@Example.org",
            "ann.smith",
            "AnnSmith2026",
            "123annsmith!!",
            "htimsnna",
            "example.org",
            "annsmithexampleorg",
        ] {
            let message = check_rules(bad, &address).unwrap_err();
            assert!(message.contains("email address"), "{bad:?}: {message}");
        }
        assert_eq!(check_rules("ann smith likes tea", &address), Ok(()));
    }

    #[test]
    fn common_passwords_are_refused_in_any_case_and_the_reason_is_told() {
        let address = AccountAddress::parse("ann.smith@example.org").unwrap();
        for bad in ["password", "Password", "qwertyuiop", "1234567890", "iloveyou"] {
            let message = check_rules(bad, &address).unwrap_err();
            assert!(message.contains("too common"), "{bad:?}: {message}");
        }
        assert_eq!(check_rules("password ", &address), Ok(()), "checked exactly as sent");
    }

    #[test]
    fn a_hash_verifies_its_own_password_only() {
        let stored = hash(Turn::grant(), &"correct horse".into(), [7; 16]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        let verdict = |typed: &str| verify(Turn::grant(), &typed.into(), &stored).unwrap();
        assert_eq!(verdict("correct horse"), PasswordCheck::Right);
        assert_eq!(verdict("correct horse "), PasswordCheck::Wrong);
        assert!(verify(Turn::grant(), &"x".into(), "damaged").is_err());
    }

    #[test]
    fn a_hash_with_other_parameters_still_verifies_and_is_outdated() {
        let params = argon2::Params::new(64, 1, 1, None).unwrap();
        let weak = argon2::Argon2::new(Default::default(), Default::default(), params);
        let stored = argon2::PasswordHasher::hash_password_with_salt(&weak, b"old", &[1; 16]);
        let stored = stored.unwrap().to_string();
        let verdict = |typed: &str| verify(Turn::grant(), &typed.into(), &stored).unwrap();
        assert_eq!(verdict("old"), PasswordCheck::Outdated);
        assert_eq!(verdict("new"), PasswordCheck::Wrong);
    }

    #[test]
    fn one_text_of_two_keyboards_is_one_password() {
        let (composed, decomposed) = ("caf\u{e9} meadow", "cafe\u{301} meadow");
        for (chosen, typed) in [(composed, decomposed), (decomposed, composed)] {
            let stored = hash(Turn::grant(), &chosen.into(), [7; 16]).unwrap();
            for text in [chosen, typed] {
                let verdict = verify(Turn::grant(), &text.into(), &stored).unwrap();
                assert_eq!(verdict, PasswordCheck::Right, "{text:?}");
            }
            let verdict = verify(Turn::grant(), &"cafe meadow".into(), &stored).unwrap();
            assert_eq!(verdict, PasswordCheck::Wrong);
        }
    }
}
