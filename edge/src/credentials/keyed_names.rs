//! Keyed names of addresses, networks and accounts, which reveal nothing. A plain hash of an address can be reversed by
//! trying addresses; a keyed one can't, unless the secret is known.

use aes_gcm::aes::{
    Aes256, Block,
    cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _},
};
use hmac::{Hmac, Mac as _};
use rcpt_shared::{Address, KeyRing};
use sha2::Sha256;

use super::mailed_token::TokenHash;
use crate::account::{AccountAddress, AccountId};

/// Keyed hash of an account's mailbox, the same for all spellings of its address: limits and marks use it, because a
/// limit per spelling could be multiplied by anyone. `id.` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxHash {
    current: String,
    other: Option<String>,
}

impl MailboxHash {
    pub fn of(secrets: &KeyRing, address: &AccountAddress) -> Self {
        let mailbox = address.mailbox();
        let all = secrets.ids().zip(secrets.macs());
        let mut all = all.map(|(id, mac)| format!("{id}.{}", keyed(mac, "mailbox", &mailbox)));
        Self { current: all.next().unwrap_or_default(), other: all.next() }
    }

    /// Hashes a text that isn't an address and so has no account.
    pub fn of_no_address(text: &str) -> Self {
        Self { current: TokenHash::of(text).as_str().to_owned(), other: None }
    }

    /// The hash under the signing secret.
    pub fn as_str(&self) -> &str {
        &self.current
    }

    /// The hash under the signing secret and under the oldest other one, or twice the first. A third secret has signed
    /// for moments only, if at all: `tools/admin secret` adds none while there are two.
    pub fn live(&self) -> [&str; 2] {
        [self.as_str(), self.other.as_deref().unwrap_or(&self.current)]
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

/// Name under which origins count an account's checks; the Worker alone can say whose it is. The account's id and eight
/// zeros, encrypted as one block of AES under the signing secret: 32 hexadecimal digits. The
/// name changes once when a new secret becomes the first of the ring; the origins then count from zero.
pub fn of_account(secrets: &KeyRing, account: AccountId) -> String {
    let mut block = Block::from((u128::from(account.as_u64()) << 64).to_be_bytes());
    cipher(secrets.signing_mac()).encrypt_block(&mut block);
    hex::encode(block)
}

pub fn account_of(secrets: &KeyRing, name: &str) -> Option<AccountId> {
    let name = <[u8; 16]>::try_from(hex::decode(name).ok()?).ok()?;
    secrets.macs().find_map(|mac| {
        let mut block = Block::from(name);
        cipher(mac).decrypt_block(&mut block);
        let text = u128::from_be_bytes(block.into());
        // Under another secret, the zeros come out once in 2^64 names.
        let id = u64::try_from(text >> 64).ok()?;
        (text << 64 == 0).then(|| AccountId::from_u64(id))
    })
}

fn cipher(mut mac: Hmac<Sha256>) -> Aes256 {
    mac.update(b"rcpt tenant");
    Aes256::new(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::{MailboxHash, account_of, of_account, of_checked, of_network};
    use crate::account::{AccountAddress, AccountId};
    use rcpt_shared::{Address, KeyRing};

    fn secret(letter: &str) -> KeyRing {
        KeyRing::parse(&letter.repeat(43)).unwrap()
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
        let account = MailboxHash::of(&secret("w"), &AccountAddress::parse(address).unwrap());
        assert!(!account.as_str().ends_with(&checked("w")));
        assert_ne!(checked("w"), checked("0"));
        let network = |key, network| of_network(&secret(key), network);
        assert_eq!(network("w", "192.0.2.1"), network("w", "192.0.2.1"));
        assert_ne!(network("w", "192.0.2.1"), network("w", "192.0.2.2"));
        assert_ne!(network("w", "192.0.2.1"), network("0", "192.0.2.1"));
        assert_ne!(network("w", address), checked("w"));
        let junk = ["a", "b"].map(|text| MailboxHash::of_no_address(text).as_str().to_owned());
        assert_ne!(junk[0], junk[1]);
    }

    #[test]
    fn two_secrets_that_change_places_give_the_same_two_hashes() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let hash = |ring: &str| {
            let address = AccountAddress::parse("ann@example.org").unwrap();
            MailboxHash::of(&KeyRing::parse(ring).unwrap(), &address)
        };
        let before = hash(&old);
        let [joined, swapped] = [format!("{old},{new}"), format!("{new},{old}")].map(|r| hash(&r));
        assert_eq!((joined.as_str(), before.live()), (before.as_str(), [before.as_str(); 2]));
        assert_eq!(joined.live(), [before.as_str(), swapped.as_str()]);
        assert_eq!(swapped.live(), [swapped.as_str(), before.as_str()]);
        assert_eq!(hash(&new).as_str(), swapped.as_str());
        assert!(swapped.as_str().starts_with(KeyRing::parse(&new).unwrap().signing().0));
    }

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_name_leads_to_its_account_while_its_secret_is_live() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let id = AccountId::from_u64(0x0200_0000_0000_00ab);
        let tenant = of_account(&ring(&old), id);
        assert_eq!(tenant.len(), 32);
        assert!(!tenant.contains("ab00000000"), "{tenant}");
        assert_ne!(tenant, of_account(&ring(&old), AccountId::from_u64(0x0200_0000_0000_00ac)));
        assert_eq!(account_of(&ring(&old), &tenant), Some(id));
        assert_eq!(account_of(&ring(&format!("{new},{old}")), &tenant), Some(id));
        assert_eq!(account_of(&ring(&new), &tenant), None);
        assert_ne!(of_account(&ring(&format!("{new},{old}")), id), tenant);
    }

    #[test]
    fn no_other_text_leads_to_an_account() {
        let ring = ring(&"w".repeat(43));
        let fine = of_account(&ring, AccountId::from_u64(7));
        for junk in ["", "me", fine.split_at(31).0, &format!("{fine}00"), &"0".repeat(32)] {
            assert_eq!(account_of(&ring, junk), None, "{junk}");
        }
    }
}
