//! Password rules and argon2id hashing.

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version,
    password_hash::phc::PasswordHash,
};
use secrecy::{ExposeSecret as _, SecretString};

use super::common_passwords;
use crate::{account::AccountAddress, cf::hashing::Turn, error::Error};

/// Characters, not bytes: a passphrase in Greek may be as long as one in English.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=128;

/// OWASP's second argon2id recommendation: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Salt length in bytes (RFC 9106 §3.1 recommends 16).
pub const SALT_BYTES: usize = 16;

/// Whether `password` may guard the account of `address`. Checked exactly as sent: nothing is trimmed
/// or normalised, here or at sign-in. `common` are the most common passwords.
///
/// # Errors
/// The rule that it breaks, for its owner to read.
pub fn check_rules(
    password: &SecretString,
    address: &AccountAddress,
    common: &str,
) -> Result<(), &'static str> {
    let password = password.expose_secret();
    if !LENGTH.contains(&password.chars().count()) {
        return Err("The password must have 8 to 128 characters.");
    }
    if resembles(password, address) {
        return Err("The password must not be the email address or a part of it.");
    }
    if common_passwords::contains(common, password) {
        return Err("This password is too common. Attackers try it first.");
    }
    Ok(())
}

/// Whether the password is the address, its local part or its domain, give or take case, separators
/// and digits around it, forwards or backwards.
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
        // A part of two letters says nothing; what is all digits has no core.
        .filter(|part| part.chars().count() > 2)
        .any(|part| part == password || part == reversed)
}

/// Hashes to a PHC string.
///
/// # Errors
/// [`Error::internal`].
// Called from several places, each of which would carry a copy.
#[inline(never)]
pub fn hash(_turn: Turn, password: &SecretString, salt: [u8; SALT_BYTES]) -> Result<String, Error> {
    argon2id()?
        .hash_password_with_salt(password.expose_secret().as_bytes(), &salt)
        .map(|hash| hash.to_string())
        .map_err(unhashable)
}

/// Whether `password` is the one that was hashed.
///
/// # Errors
/// [`Error::internal`] when the stored hash cannot be read.
pub fn verify(_turn: Turn, password: &SecretString, stored: &str) -> Result<bool, Error> {
    let stored = PasswordHash::new(stored).map_err(unhashable)?;
    // The parameters come from the stored hash, so older ones go on verifying.
    Ok(argon2id()?.verify_password(password.expose_secret().as_bytes(), &stored).is_ok())
}

/// Does the work of [`verify`] for an address without an account, so that the time tells nothing. Never
/// right.
///
/// # Errors
/// [`Error::internal`].
pub fn verify_nothing(turn: Turn, password: &SecretString) -> Result<bool, Error> {
    hash(turn, password, [0; SALT_BYTES]).map(|_| false)
}

/// Whether the stored hash was made with other parameters than today's.
pub fn is_outdated(stored: &str) -> bool {
    !stored.starts_with(&format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}$"))
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

    use super::{hash, is_outdated, verify};
    use crate::{
        account::AccountAddress, cf::hashing::Turn, credentials::common_passwords::tests::LIST,
    };

    fn check_rules(password: &SecretString, address: &AccountAddress) -> Result<(), &'static str> {
        super::check_rules(password, address, LIST)
    }

    #[test]
    fn length_counts_characters_and_nothing_is_trimmed() {
        let address = AccountAddress::parse("ann.smith@example.org").unwrap();
        for good in ["8 chars!", "        ", &"ψ".repeat(8), &"ψ".repeat(128)] {
            assert_eq!(check_rules(&good.into(), &address), Ok(()), "{good:?}");
        }
        for bad in ["", "1234567", &"x".repeat(129), "ψυχή"] {
            let told = check_rules(&bad.into(), &address).unwrap_err();
            assert!(told.contains("8 to 128"), "{bad:?}: {told}");
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
            let told = check_rules(&bad.into(), &address).unwrap_err();
            assert!(told.contains("email address"), "{bad:?}: {told}");
        }
        assert_eq!(check_rules(&"ann smith likes tea".into(), &address), Ok(()));
    }

    #[test]
    fn common_passwords_are_refused_in_any_case_and_the_reason_is_told() {
        let address = AccountAddress::parse("ann.smith@example.org").unwrap();
        for bad in ["password", "Password", "qwertyuiop", "1234567890", "iloveyou"] {
            let told = check_rules(&bad.into(), &address).unwrap_err();
            assert!(told.contains("too common"), "{bad:?}: {told}");
        }
        assert_eq!(check_rules(&"password ".into(), &address), Ok(()), "checked exactly as sent");
    }

    #[test]
    fn a_hash_verifies_its_own_password_only() {
        let stored = hash(Turn::free(), &"correct horse".into(), [7; 16]).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(Turn::free(), &"correct horse".into(), &stored).unwrap());
        assert!(!verify(Turn::free(), &"correct horse ".into(), &stored).unwrap());
        assert!(verify(Turn::free(), &"x".into(), "damaged").is_err());
    }

    #[test]
    fn a_hash_with_other_parameters_still_verifies_and_is_outdated() {
        let params = argon2::Params::new(64, 1, 1, None).unwrap();
        let weak = argon2::Argon2::new(Default::default(), Default::default(), params);
        let stored = argon2::PasswordHasher::hash_password_with_salt(&weak, b"old", &[1; 16]);
        let stored = stored.unwrap().to_string();
        assert!(verify(Turn::free(), &"old".into(), &stored).unwrap());
        assert!(is_outdated(&stored));
        assert!(!is_outdated(&hash(Turn::free(), &"new".into(), [1; 16]).unwrap()));
    }
}
