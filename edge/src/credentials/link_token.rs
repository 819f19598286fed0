//! Tokens in emailed links that give no access: each is sent only to its mailbox, can't be forged, and isn't stored.

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

#[derive(Debug, Clone, Copy)]
pub enum LinkUse {
    /// Opts a mailbox, named by its keyed hash, out of emails that other people cause.
    OptOut,
    /// Stops changes of an account: *This wasn't me*. Names the account and the change, with a dot between them.
    Stop,
}

/// Token under the ring's signing secret: what it names, a dot, and 64 hexadecimal digits.
pub fn of(secrets: &KeyRing, link: LinkUse, named: &str) -> String {
    let mac = keyed(secrets.signing_mac(), link, named).finalize().into_bytes();
    format!("{named}.{}", hex::encode(mac))
}

pub fn named<'t>(secrets: &KeyRing, link: LinkUse, token: &'t str) -> Option<&'t str> {
    let (named, mac) = token.rsplit_once('.')?;
    let mac = hex::decode(mac).ok()?;
    let is_ours = |keyed: Hmac<Sha256>| keyed.verify_slice(&mac).is_ok();
    secrets.macs().any(|secret| is_ours(keyed(secret, link, named))).then_some(named)
}

fn keyed(mut mac: Hmac<Sha256>, link: LinkUse, named: &str) -> Hmac<Sha256> {
    mac.update(match link {
        LinkUse::OptOut => b"opt out\0",
        LinkUse::Stop => b"stop\0",
    });
    mac.update(named.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{LinkUse, named, of};

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_token_leads_to_its_name_while_its_secret_is_live_and_for_its_use_alone() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let token = of(&ring(&old), LinkUse::OptOut, "old.cafe");
        for (secrets, link, expected) in [
            (old.clone(), LinkUse::OptOut, Some("old.cafe")),
            (format!("{new},{old}"), LinkUse::OptOut, Some("old.cafe")),
            (new, LinkUse::OptOut, None),
            (old, LinkUse::Stop, None),
        ] {
            assert_eq!(named(&ring(&secrets), link, &token), expected, "{link:?}");
        }
    }

    #[test]
    fn a_token_with_any_other_character_is_refused() {
        let secrets = ring(&"w".repeat(43));
        let token = of(&secrets, LinkUse::Stop, "0000000000000007.00ab");
        for index in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[index] = if changed[index] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(named(&secrets, LinkUse::Stop, &changed), None);
        }
        for junk in ["", ".", "..", "k.cafe", "k.cafe.", "k.cafe.zz"] {
            assert_eq!(named(&secrets, LinkUse::Stop, junk), None, "{junk}");
        }
    }
}
