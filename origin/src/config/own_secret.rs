//! The secret of this origin, and the MACs and keys derived from it.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_pool::HashKey;
use sha2::Sha256;

use super::Config;

impl Config {
    /// `source_key`, or else the secret for tickets: then nothing depends on it that should outlive this process.
    pub fn own_secret(&self) -> &[u8] {
        match self.source_key.0.as_str() {
            "" => self.ticket_secrets.signing().1,
            own => own.as_bytes(),
        }
    }

    /// An HMAC that has been fed with `purpose`, so that tags for different purposes differ.
    pub fn own_mac(&self, purpose: &[u8]) -> Hmac<Sha256> {
        // HMAC accepts keys of any length, so this can't fail.
        let keyed = Hmac::<Sha256>::new_from_slice(self.own_secret());
        keyed.unwrap_or_else(|_| Hmac::new(&Default::default())).chain_update(purpose)
    }

    pub fn hash_key(&self) -> HashKey {
        let tag = self.own_mac(b"names in memory").finalize().into_bytes();
        let word =
            |octets: &[u8]| octets.iter().fold(0, |word, octet| word << 8 | u64::from(*octet));
        let (first, rest) = tag.split_at(8);
        HashKey::new([word(first), word(rest.split_at(8).0)])
    }
}
