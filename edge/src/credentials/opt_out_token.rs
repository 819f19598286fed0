//! The token in the link that opts a mailbox out of emails that other people cause. The token is sent only to
//! that mailbox, can't be forged, and isn't stored.

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

/// Token for a mailbox with this keyed hash: the hash, a dot, and 64 hexadecimal digits.
pub fn of(secrets: &KeyRing, mailbox_hash: &str) -> String {
    let mac = keyed(secrets.signing_mac(), mailbox_hash).finalize().into_bytes();
    format!("{mailbox_hash}.{}", hex::encode(mac))
}

/// Mailbox hash of a token made under any live secret.
pub fn mailbox<'t>(secrets: &KeyRing, token: &'t str) -> Option<&'t str> {
    let (mailbox_hash, mac) = token.rsplit_once('.')?;
    let mac = hex::decode(mac).ok()?;
    let is_ours = |keyed: Hmac<Sha256>| keyed.verify_slice(&mac).is_ok();
    secrets.macs().any(|secret| is_ours(keyed(secret, mailbox_hash))).then_some(mailbox_hash)
}

fn keyed(mut mac: Hmac<Sha256>, mailbox_hash: &str) -> Hmac<Sha256> {
    mac.update(b"opt out\0");
    mac.update(mailbox_hash.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{mailbox, of};

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_token_leads_to_its_mailbox_while_its_secret_is_live() {
        let (old, new) = (format!("old:{}", "w".repeat(43)), format!("new:{}", "0".repeat(43)));
        let token = of(&ring(&old), "old.cafe");
        assert_eq!(mailbox(&ring(&old), &token), Some("old.cafe"));
        assert_eq!(mailbox(&ring(&format!("{new},{old}")), &token), Some("old.cafe"));
        assert_eq!(mailbox(&ring(&new), &token), None);
    }

    #[test]
    fn a_token_with_any_other_character_is_refused() {
        let secrets = ring(&format!("k:{}", "w".repeat(43)));
        let token = of(&secrets, "k.cafe");
        for index in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[index] = if changed[index] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(mailbox(&secrets, &changed), None, "{changed}");
        }
        for junk in ["", ".", "k.cafe", "k.cafe.", "k.cafe.zz"] {
            assert_eq!(mailbox(&secrets, junk), None, "{junk}");
        }
    }
}
