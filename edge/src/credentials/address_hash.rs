//! Keyed hashes of addresses. A plain hash of an address can be undone by trying addresses; without
//! the secret these cannot.

use hmac::{Hmac, Mac as _};
use rcpt_shared::{Address, KeyRing};
use sha2::Sha256;

use crate::account::AccountAddress;

/// The hash under which the account of an address is found, and those under older secrets, which are
/// moved before they are looked up. Each is 64 hexadecimal digits.
#[derive(Debug, Clone)]
pub struct AddressHash {
    pub current: String,
    pub older: Vec<String>,
}

/// Hashes the address of an account under every live secret.
pub fn of_account(secrets: &KeyRing, address: &AccountAddress) -> AddressHash {
    let mut hashes = secrets.macs().map(|mac| keyed(mac, "account", &address.folded()));
    let current = hashes.next().unwrap_or_default();
    AddressHash { current, older: hashes.collect() }
}

/// The key under which the verdict about a checked address is cached: 64 hexadecimal digits.
/// Identical addresses, and only they, share it.
pub fn of_checked(secret: &KeyRing, address: &Address) -> String {
    keyed(secret.signing_mac(), "verdict", address.normal())
}

/// The hash that stands for a client's network in a throttle key: 64 hexadecimal digits.
pub fn of_network(secret: &KeyRing, network: &str) -> String {
    keyed(secret.signing_mac(), "network", network)
}

#[inline(never)]
fn keyed(mut mac: Hmac<Sha256>, purpose: &str, address: &str) -> String {
    mac.update(purpose.as_bytes());
    mac.update(b"\0");
    mac.update(address.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::{of_account, of_checked};
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
        let account = of_account(&secret("w"), &AccountAddress::parse(address).unwrap());
        assert_ne!(checked("w"), account.current);
        assert_ne!(checked("w"), checked("0"));
    }

    #[test]
    fn an_account_is_known_under_the_older_secret_too() {
        let address = AccountAddress::parse("ann@example.org").unwrap();
        let both = KeyRing::parse(&format!("b:{},a:{}", "0".repeat(43), "w".repeat(43))).unwrap();
        let hash = of_account(&both, &address);
        assert_eq!(hash.older, [of_account(&secret("w"), &address).current]);
        assert_eq!(hash.current, of_account(&secret("0"), &address).current);
    }
}
