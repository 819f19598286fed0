//! Keyed hashes of addresses and networks. A plain hash of an address can be reversed by trying
//! addresses; a keyed hash can't, unless the secret is known.

use hmac::{Hmac, Mac as _};
use rcpt_shared::{Address, KeyRing};
use sha2::Sha256;

use super::mailed_token::TokenHash;
use crate::account::{AccountAddress, mailbox};

/// Lookup hashes of an account's address and mailbox, under the signing secret and, during a replacement, also under
/// the other secret. Each is `kid.` and 64 hexadecimal digits, so that a range of the index holds everything under one
/// secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountHash {
    current: String,
    other: Option<String>,
    mailbox: String,
    other_mailbox: Option<String>,
}

impl AccountHash {
    pub fn of(secrets: &KeyRing, address: &AccountAddress) -> Self {
        let hashes = |purpose, text: &str| {
            let all = secrets.kids().zip(secrets.macs());
            let mut all = all.map(|(kid, mac)| format!("{kid}.{}", keyed(mac, purpose, text)));
            (all.next().unwrap_or_default(), all.next())
        };
        let (current, other) = hashes("account", &address.folded());
        let (mailbox, other_mailbox) =
            hashes("mailbox", &[mailbox::VERSION, " ", &address.mailbox()].concat());
        Self { current, other, mailbox, other_mailbox }
    }

    /// Hashes a text that isn't an address and so has no account.
    pub fn of_no_address(text: &str) -> Self {
        let hash = TokenHash::of(text).as_str().to_owned();
        Self { current: hash.clone(), other: None, mailbox: hash, other_mailbox: None }
    }

    /// The hash under the signing secret.
    pub fn as_str(&self) -> &str {
        &self.current
    }

    /// The hash under the other secret, if there is one.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Hash of the mailbox, shared by all spellings of the address. Limits of emails and sign-ins use this hash: a
    /// limit per spelling could be multiplied by anyone.
    pub fn mailbox(&self) -> &str {
        &self.mailbox
    }

    /// The mailbox's hash under the other secret, if there is one.
    pub fn other_mailbox(&self) -> Option<&str> {
        self.other_mailbox.as_deref()
    }
}

/// Cache key for the verdict about an address: 64 hexadecimal digits. Only identical addresses share a key.
pub fn of_checked(secrets: &KeyRing, address: &Address) -> String {
    keyed(secrets.signing_mac(), "verdict", address.normal())
}

/// Hash of a client's network for a throttle key: 64 hexadecimal digits.
pub fn of_network(secrets: &KeyRing, network: &str) -> String {
    keyed(secrets.signing_mac(), "network", network)
}

fn keyed(mut mac: Hmac<Sha256>, purpose: &str, text: &str) -> String {
    mac.update(purpose.as_bytes());
    mac.update(b"\0");
    mac.update(text.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::{AccountHash, of_checked};
    use crate::account::AccountAddress;
    use rcpt_shared::{Address, KeyRing};

    fn secret(letter: &str) -> KeyRing {
        KeyRing::parse(&format!("k:{}", letter.repeat(43))).unwrap()
    }

    #[test]
    fn identical_addresses_share_a_hash_and_others_do_not() {
        let hash = |text| of_checked(&secret("w"), &Address::parse(text).unwrap());
        assert_eq!(hash("ann@EXAMPLE.org"), hash("ann@example.org"));
        assert_ne!(hash("Ann@example.org"), hash("ann@example.org"));
        assert_eq!(hash("ann@bücher.example"), hash("ann@xn--bcher-kva.example"));
    }

    #[test]
    fn purposes_and_secrets_are_apart() {
        let address = "ann@example.org";
        let checked = |key| of_checked(&secret(key), &Address::parse(address).unwrap());
        let account = AccountHash::of(&secret("w"), &AccountAddress::parse(address).unwrap());
        assert_ne!(format!("k.{}", checked("w")), account.as_str());
        assert_ne!(checked("w"), checked("0"));
    }

    #[test]
    fn two_secrets_that_change_places_give_the_same_two_hashes() {
        let (old, new) = (format!("old:{}", "w".repeat(43)), format!("new:{}", "0".repeat(43)));
        let hash = |ring: &str| {
            let address = AccountAddress::parse("ann@example.org").unwrap();
            AccountHash::of(&KeyRing::parse(ring).unwrap(), &address)
        };
        let before = hash(&old);
        let [joined, swapped] = [format!("{old},{new}"), format!("{new},{old}")].map(|r| hash(&r));
        assert_eq!((joined.as_str(), before.other()), (before.as_str(), None));
        assert_eq!(joined.other(), Some(swapped.as_str()));
        assert_eq!(swapped.other(), Some(before.as_str()));
        assert_eq!(hash(&new).as_str(), swapped.as_str());
        assert!(swapped.as_str().starts_with("new."));
    }
}
