//! Stored form of a request with an `Idempotency-Key`: keyed hashes, and a response that only the key decrypts. A key
//! belongs to one operation. A dump of the database reveals nothing, even with our secrets, if the key is hard to
//! guess.

use hmac::Mac as _;
use rcpt_shared::KeyRing;

use super::{
    random,
    sealed::{SealPurpose, open, seal},
};
use crate::{account::AccountId, error::Error};

#[derive(Debug)]
pub struct Idempotent {
    /// Hashes of the key under the signing secret and under the oldest other one; equal if there is only one secret.
    names: [String; 2],
    /// Hashes over the key and the request, in the same order of secrets.
    requests: [String; 2],
    purpose: Vec<u8>,
}

/// Characters of a hash: 128 bits are enough to distinguish keys of one account.
const HASH_DIGITS: usize = 32;

impl Idempotent {
    /// `request` is the content that a repeat must share, besides the key. It begins with the operation's name and a
    /// NUL.
    pub fn new(secrets: &KeyRing, account: AccountId, key: &str, request: &str) -> Self {
        let operation = request.split('\0').next().unwrap_or_default();
        let about = format!("rcpt idempotency\0{account}\0{operation}\0{key}");
        let hashes = |text: String| {
            let mut hashes = secrets.macs().map(|mut mac| {
                mac.update(text.as_bytes());
                let mut hash = hex::encode(mac.finalize().into_bytes());
                hash.truncate(HASH_DIGITS);
                hash
            });
            let first = hashes.next().unwrap_or_default();
            [first.clone(), hashes.next().unwrap_or(first)]
        };
        Self {
            names: hashes(format!("{about}\0name")),
            requests: hashes(format!("{about}\0request\0{request}")),
            purpose: format!("{about}\0seal").into_bytes(),
        }
    }

    pub const fn names(&self) -> &[String; 2] {
        &self.names
    }

    pub const fn requests(&self) -> &[String; 2] {
        &self.requests
    }

    /// True if `request` is a stored hash of this request.
    pub fn is(&self, request: &str) -> bool {
        self.requests.iter().any(|own| own == request)
    }

    pub fn seal(&self, secrets: &KeyRing, answer: &str) -> Result<String, Error> {
        let sealed =
            seal(secrets, SealPurpose(&self.purpose), "", answer.as_bytes(), random::bytes()?);
        sealed.map_err(|_| Error::internal("an answer could not be sealed"))
    }

    pub fn open(&self, secrets: &KeyRing, sealed: &str) -> Option<String> {
        let opened = open(secrets, SealPurpose(&self.purpose), "", sealed).ok()?;
        String::from_utf8(opened).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Idempotent;
    use crate::account::AccountId;
    use rcpt_shared::KeyRing;

    const KEY: &str = "8e03978e-40d5-43dd-bc93";

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn another_account_key_request_or_secret_is_another_hash_and_opens_nothing() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let of = |ring: &KeyRing, account, key, address| {
            let request = format!("check\0{address}");
            Idempotent::new(ring, AccountId::from_u64(account), key, &request)
        };
        let secrets = ring(&old);
        let first = of(&secrets, 1, KEY, "ann@example.org");
        let sealed = first.seal(&secrets, "verdict").unwrap();
        assert_eq!(first.open(&secrets, &sealed).as_deref(), Some("verdict"));
        let repeat = of(&secrets, 1, KEY, "ann@example.org");
        assert!(repeat.names == first.names && repeat.is(&first.requests[0]));
        let reused = of(&secrets, 1, KEY, "bob@example.org");
        assert!(reused.names == first.names && !reused.is(&first.requests[0]));
        for (secrets, account, key) in [
            (&secrets, 2, KEY),
            (&secrets, 1, "another-key-of-this-account"),
            (&ring(&new), 1, KEY),
        ] {
            let other = of(secrets, account, key, "ann@example.org");
            assert!(other.names != first.names && !other.is(&first.requests[0]));
            assert_eq!(other.open(secrets, &sealed), None);
        }
        let elsewhere =
            Idempotent::new(&secrets, AccountId::from_u64(1), KEY, "list\0ann@example.org");
        assert!(elsewhere.names != first.names && !elsewhere.is(&first.requests[0]));
        assert_eq!(elsewhere.open(&secrets, &sealed), None, "an operation's keys are its own");
        // While a secret is being replaced, values under the old one are still found.
        let both = ring(&format!("{new},{old}"));
        let later = of(&both, 1, KEY, "ann@example.org");
        assert_eq!(later.names[1], first.names[0]);
        assert!(later.is(&first.requests[0]));
        assert_eq!(later.open(&both, &sealed).as_deref(), Some("verdict"));
    }
}
