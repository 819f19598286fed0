//! Keyed hashes of addresses. A plain hash of an address can be undone by trying addresses; without
//! the secret these cannot.

use hmac::Mac as _;
use rcpt_shared::{Address, KeyRing};

use crate::account::AccountAddress;

/// The hash under which the account of an address is found: 64 hexadecimal digits.
pub fn of_account(secret: &KeyRing, address: &AccountAddress) -> String {
    keyed(secret, "account", &address.folded())
}

/// The key under which the verdict about a checked address is cached: 64 hexadecimal digits.
/// Identical addresses, and only they, share it.
pub fn of_checked(secret: &KeyRing, address: &Address) -> String {
    keyed(secret, "verdict", address.normal())
}

/// The hash that stands for a client's network in a throttle key: 64 hexadecimal digits.
pub fn of_network(secret: &KeyRing, network: &str) -> String {
    keyed(secret, "network", network)
}

fn keyed(secret: &KeyRing, purpose: &str, address: &str) -> String {
    let mut mac = secret.signing_mac();
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
        assert_ne!(checked("w"), account);
        assert_ne!(checked("w"), checked("0"));
    }
}
