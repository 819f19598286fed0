//! Time-based one-time codes (RFC 6238): the sealed secret, and the time step of a code.

use rcpt_shared::KeyRing;
use secrecy::{ExposeSecret as _, SecretBox};
use totp_rs::{Builder, Secret, Totp};

pub use super::sealed::SealError;
use super::sealed::{self, SealPurpose};
use crate::account::AccountId;

/// 160 bits, as RFC 4226 §4 recommends.
pub const SECRET_BYTES: usize = 20;
const NONCE_BYTES: usize = 12;
const TOTP: SealPurpose<'_> = SealPurpose(b"rcpt totp seal");
const ISSUER: &str = "rcpt";

/// The secret shared with an authenticator. Hidden from `Debug`.
#[derive(Debug)]
pub struct TotpSecret(SecretBox<[u8; SECRET_BYTES]>);

impl TotpSecret {
    pub fn from_random(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(SecretBox::new(Box::new(bytes)))
    }

    /// Encrypts the secret for the database: `id.nonce||ciphertext`, AES-256-GCM with the account
    /// as associated data, so that it can't be decrypted for another account.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(
        &self,
        keys: &KeyRing,
        account: AccountId,
        nonce: [u8; NONCE_BYTES],
    ) -> Result<String, SealError> {
        sealed::seal(keys, TOTP, &account.to_string(), self.0.expose_secret(), nonce)
    }

    /// Decrypts the output of [`Self::seal`].
    ///
    /// # Errors
    /// [`SealError`].
    pub fn open(keys: &KeyRing, account: AccountId, sealed: &str) -> Result<Self, SealError> {
        let bytes = sealed::open(keys, TOTP, &account.to_string(), sealed)?;
        Ok(Self::from_random(bytes.try_into().map_err(|_| SealError)?))
    }

    /// True if a sealed secret is under another key than the one that signs.
    pub fn is_outdated(keys: &KeyRing, sealed: &str) -> bool {
        sealed.split_once('.').is_none_or(|(id, _)| id != keys.signing().0)
    }

    /// The secret in unpadded base32, to type into an authenticator.
    pub fn to_base32(&self) -> String {
        Secret::from(self.0.expose_secret().as_slice()).to_base32()
    }

    /// The `otpauth://` URL for a QR code; it names the account by its address.
    ///
    /// # Errors
    /// [`SealError`], which can't occur with this secret length.
    pub fn otpauth_url(&self, email: &str) -> Result<String, SealError> {
        // A colon separates issuer and account in the label, so neither may contain one; in an
        // address, only a quoted local part can.
        let account = email.replace(':', ".");
        let totp = self.builder().with_account_name(account).with_issuer(Some(ISSUER)).build();
        totp.and_then(|totp| totp.to_url()).map_err(|_| SealError)
    }

    /// Time step (RFC 6238 §4.2) of a six-digit code if it is the current step or a neighbour at `now` (Unix seconds).
    pub fn step_of(&self, code: &str, now: u64) -> Option<u64> {
        let totp: Totp = self.builder().build().ok()?;
        totp.check(code, now)
    }

    /// Defaults of authenticator apps: SHA-1, 6 digits, 30 s and one step of tolerance.
    fn builder(&self) -> Builder {
        Builder::new()
            .with_secret(Secret::from(self.0.expose_secret().as_slice()))
            .with_digits(6)
            .with_step_duration(30)
            .with_skew(1)
    }
}

#[cfg(test)]
mod tests {
    use totp_rs::{Algorithm, Builder, Secret};

    use super::TotpSecret;
    use crate::account::AccountId;
    use rcpt_shared::KeyRing;

    const ACCOUNT: AccountId = AccountId::from_u64(7);
    /// The secret of RFC 6238 appendix B.
    const RFC: [u8; 20] = *b"12345678901234567890";

    fn keys(letter: &str) -> KeyRing {
        KeyRing::parse(&letter.repeat(43)).unwrap()
    }

    #[test]
    fn rfc_6238_appendix_b_vectors_pass() {
        let seeds: [(Algorithm, &[u8]); 3] = [
            (Algorithm::SHA1, b"12345678901234567890"),
            (Algorithm::SHA256, b"12345678901234567890123456789012"),
            (
                Algorithm::SHA512,
                b"1234567890123456789012345678901234567890123456789012345678901234",
            ),
        ];
        for (time, codes) in [
            (59, ["94287082", "46119246", "90693936"]),
            (1_111_111_109, ["07081804", "68084774", "25091201"]),
            (1_111_111_111, ["14050471", "67062674", "99943326"]),
            (1_234_567_890, ["89005924", "91819424", "93441116"]),
            (2_000_000_000, ["69279037", "90698825", "38618901"]),
            (20_000_000_000, ["65353130", "77737706", "47863826"]),
        ] {
            for ((algorithm, seed), code) in seeds.into_iter().zip(codes) {
                let builder = Builder::new().with_algorithm(algorithm).with_digits(8);
                let totp = builder.with_secret(Secret::from(seed)).build().unwrap();
                assert_eq!(totp.generate(time).to_string(), code, "{algorithm:?} at {time}");
            }
            // Our codes are the last six digits of the SHA-1 column.
            let [sha1, ..] = codes;
            let (_, six) = sha1.split_at(2);
            assert_eq!(TotpSecret::from_random(RFC).step_of(six, time), Some(time / 30));
        }
    }

    #[test]
    fn one_step_either_way_is_accepted_and_two_are_not() {
        let secret = TotpSecret::from_random(RFC);
        // 287082 belongs to step 1, seconds 30 to 59.
        for (now, step) in [(0, Some(1)), (29, Some(1)), (59, Some(1)), (89, Some(1)), (90, None)] {
            assert_eq!(secret.step_of("287082", now), step, "{now}");
        }
        for code in ["", "28708", "2870821", "28708a", " 287082", "٢٨٧٠٨٢"] {
            assert_eq!(secret.step_of(code, 59), None, "{code:?}");
        }
    }

    #[test]
    fn a_sealed_secret_opens_for_its_account_and_key_only() {
        let sealed = TotpSecret::from_random(RFC).seal(&keys("w"), ACCOUNT, [9; 12]).unwrap();
        let opened = TotpSecret::open(&keys("w"), ACCOUNT, &sealed).unwrap();
        assert_eq!(opened.step_of("287082", 59), Some(1));
        assert!(!TotpSecret::is_outdated(&keys("w"), &sealed));
        assert!(TotpSecret::is_outdated(&keys("0"), &sealed));
        let other = AccountId::from_u64(8);
        assert!(TotpSecret::open(&keys("w"), other, &sealed).is_err());
        assert!(TotpSecret::open(&keys("0"), ACCOUNT, &sealed).is_err());
        let id = keys("w").signing().0.to_owned();
        let (nothing, short) = (format!("{id}."), format!("{id}.AAAA"));
        for damaged in ["", &nothing, &short, sealed.trim_end_matches(char::is_alphanumeric)] {
            assert!(TotpSecret::open(&keys("w"), ACCOUNT, damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn what_the_first_secret_has_not_sealed_is_outdated() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let ring = |text: &str| KeyRing::parse(text).unwrap();
        let sealed = TotpSecret::from_random(RFC).seal(&ring(&old), ACCOUNT, [9; 12]).unwrap();
        let joined = ring(&format!("{old},{new}"));
        let swapped = ring(&format!("{new},{old}"));
        assert!(!TotpSecret::is_outdated(&joined, &sealed));
        assert!(TotpSecret::is_outdated(&swapped, &sealed));
        assert!(TotpSecret::open(&swapped, ACCOUNT, &sealed).is_ok());
    }

    #[test]
    fn the_url_names_issuer_and_account() {
        let url = TotpSecret::from_random(RFC).otpauth_url("ann+x@example.org").unwrap();
        assert!(url.starts_with("otpauth://totp/rcpt:ann"), "{url}");
        let typed = TotpSecret::from_random(RFC).to_base32();
        assert_eq!(typed, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert!(url.contains(&format!("secret={typed}")), "{url}");
        assert!(url.contains("issuer=rcpt"), "{url}");
    }

    #[test]
    fn hides_itself_from_debug() {
        let shown = format!("{:?}", TotpSecret::from_random([b'S'; 20]));
        assert!(shown.contains("REDACTED") && !shown.contains("83"), "{shown}");
    }
}
