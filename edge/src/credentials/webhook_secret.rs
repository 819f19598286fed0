//! Secrets of webhooks: derived like API keys, and not stored. Signatures have the form of Standard
//! Webhooks.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use crate::account::AccountId;

pub fn text(keys: &KeyRing, account: AccountId, name: &str) -> String {
    format!("whsec_{}", STANDARD.encode(secret(keys.signing_mac(), account, name)))
}

fn secret(mut mac: Hmac<Sha256>, account: AccountId, name: &str) -> [u8; 32] {
    mac.update(b"rcpt webhook\0");
    mac.update(&account.as_u64().to_be_bytes());
    mac.update(name.as_bytes());
    mac.finalize().into_bytes().into()
}

/// Each live secret of the ring has one.
pub fn macs<'k>(
    keys: &'k KeyRing,
    account: AccountId,
    name: &'k str,
) -> impl Iterator<Item = Hmac<Sha256>> + 'k {
    keys.macs().map(move |mac| {
        <Hmac<Sha256>>::new_from_slice(&secret(mac, account, name))
            .unwrap_or_else(|_| Hmac::new(&Default::default()))
    })
}

/// The `webhook-signature` under the secrets of these names, ignoring empty names. While a secret of the ring is being
/// replaced, both secrets sign, so that receivers with the older secret need no change.
pub fn signatures(
    keys: &KeyRing,
    account: AccountId,
    names: [&str; 2],
    (id, timestamp, body): (&str, u64, &str),
) -> String {
    let signed = format!("{id}.{timestamp}.{body}");
    let names = names.into_iter().filter(|name| !name.is_empty());
    let signatures = names.flat_map(|name| {
        macs(keys, account, name).map(|mut mac| {
            mac.update(signed.as_bytes());
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        })
    });
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{signatures, text};
    use crate::account::AccountId;

    const ACCOUNT: AccountId = AccountId::from_u64(7);
    const MESSAGE: (&str, u64, &str) = ("msg_1", 1_700_000_000, "{}");

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_secret_belongs_to_its_account_and_name() {
        let keys = ring(&"w".repeat(43));
        let one = text(&keys, ACCOUNT, "n");
        assert!(one.starts_with("whsec_") && one.len() == 6 + 44, "{one}");
        assert_eq!(one, text(&keys, ACCOUNT, "n"));
        assert_ne!(one, text(&keys, ACCOUNT, "m"));
        assert_ne!(one, text(&keys, AccountId::from_u64(8), "n"));
    }

    #[test]
    fn both_names_and_both_secrets_of_the_ring_sign_while_they_are_live() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let of = |ring: &KeyRing, names| signatures(ring, ACCOUNT, names, MESSAGE);
        let before = of(&ring(&old), ["n", ""]);
        assert!(before.starts_with("v1,") && !before.contains(' '), "{before}");
        let both = of(&ring(&format!("{new},{old}")), ["m", "n"]);
        assert_eq!(both.split(' ').count(), 4);
        assert!(both.split(' ').any(|signature| signature == before));
        assert!(both.starts_with(&of(&ring(&new), ["m", ""])));
    }
}
