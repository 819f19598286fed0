//! Time-based one-time codes (RFC 6238): the sealed secret, and the time step of a code.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::KeyRing;
use secrecy::{ExposeSecret as _, SecretBox};
use sha1::Sha1;

pub use super::sealed::SealError;
use super::{
    base32,
    sealed::{self, SealPurpose},
};
use crate::account::AccountId;

/// 160 bits, as RFC 4226 §4 recommends.
pub const SECRET_BYTES: usize = 20;
const NONCE_BYTES: usize = 12;
const TOTP: SealPurpose<'_> = SealPurpose(b"rcpt totp seal");
/// Seconds of a time step (RFC 6238 §5.2).
const STEP_S: u64 = 30;
/// Name shown by authenticator apps.
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
        base32::encode(self.0.expose_secret())
    }

    /// The `otpauth://` URL for a QR code; it names the account by its address.
    pub fn otpauth_url(&self, email: &str) -> String {
        // A colon separates issuer and account in the label, so neither may contain one; in an
        // address, only a quoted local part can.
        let account = email.replace(':', ".");
        let account = account.bytes().map(|byte| match byte {
            b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        });
        let account: String = account.collect();
        format!("otpauth://totp/{ISSUER}:{account}?secret={}&issuer={ISSUER}", self.to_base32())
    }

    /// Time step (RFC 6238 §4.2) of a six-digit code if it is the current step or a neighbour at `now` (Unix seconds).
    pub fn step_of(&self, code: &str, now: u64) -> Option<u64> {
        let is_plain = code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit());
        let code: u32 = is_plain.then(|| code.parse().ok())??;
        let step = now / STEP_S;
        (step.saturating_sub(1)..=step.saturating_add(1)).find(|step| self.code(*step) == code)
    }

    /// With the defaults of authenticator apps: SHA-1 and six digits (RFC 4226 §5.3).
    fn code(&self, step: u64) -> u32 {
        let mac = Hmac::<Sha1>::new_from_slice(self.0.expose_secret());
        let mac = mac.map(|mac| mac.chain_update(step.to_be_bytes()).finalize().into_bytes());
        let tag: [u8; 20] = mac.map(Into::into).unwrap_or_default();
        let start = usize::from(tag[19] & 15);
        let four = tag.iter().skip(start).take(4);
        four.fold(0, |number: u32, byte| (number << 8) | u32::from(*byte)) % (1 << 31) % 1_000_000
    }
}

#[cfg(test)]
mod tests {
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
        for (time, code) in [
            (59, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            // Ours are the last six of their eight digits.
            let (_, six) = code.split_at(2);
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
        let url = TotpSecret::from_random(RFC).otpauth_url("\"ann:x\"+ü@example.org");
        assert_eq!(
            url,
            "otpauth://totp/rcpt:%22ann.x%22%2B%C3%BC%40example.org\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=rcpt"
        );
    }

    #[test]
    fn hides_itself_from_debug() {
        let shown = format!("{:?}", TotpSecret::from_random([b'S'; 20]));
        assert!(shown.contains("REDACTED") && !shown.contains("83"), "{shown}");
    }
}
