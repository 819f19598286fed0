//! The token in the link *This wasn't me*, which stops changes of an account and opens nothing. It's sent only to the
//! account's mailbox, can't be forged, and isn't stored: it names the account and the change.

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use crate::account::AccountId;

/// Token for a change of an account, under the ring's signing secret: `account.change.mac`.
pub fn of(secrets: &KeyRing, account: AccountId, change: &str) -> String {
    let named = format!("{account}.{change}");
    let mac = keyed(secrets.signing_mac(), &named).finalize().into_bytes();
    format!("{named}.{}", hex::encode(mac))
}

/// A genuine token's account and change.
pub fn read(secrets: &KeyRing, token: &str) -> Option<(AccountId, String)> {
    let (named, mac) = token.rsplit_once('.')?;
    let mac = hex::decode(mac).ok()?;
    let is_ours = |keyed: Hmac<Sha256>| keyed.verify_slice(&mac).is_ok();
    secrets.macs().any(|secret| is_ours(keyed(secret, named))).then_some(())?;
    let (account, change) = named.split_once('.')?;
    Some((AccountId::parse(account)?, change.to_owned()))
}

fn keyed(mut mac: Hmac<Sha256>, named: &str) -> Hmac<Sha256> {
    mac.update(b"stop\0");
    mac.update(named.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{of, read};
    use crate::account::AccountId;

    #[test]
    fn a_token_leads_to_its_change_and_no_other_text_does() {
        let secrets = KeyRing::parse(&format!("k:{}", "w".repeat(43))).unwrap();
        let other = KeyRing::parse(&format!("k:{}", "0".repeat(43))).unwrap();
        let account = AccountId::from_u64(7);
        let token = of(&secrets, account, "00ab");
        assert_eq!(read(&secrets, &token), Some((account, "00ab".to_owned())));
        assert_eq!(read(&other, &token), None);
        for index in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[index] = if changed[index] == b'0' { b'1' } else { b'0' };
            assert_eq!(read(&secrets, &String::from_utf8(changed).unwrap()), None);
        }
        for junk in ["", ".", "..", "0000000000000007.00ab", "0000000000000007.00ab.zz"] {
            assert_eq!(read(&secrets, junk), None, "{junk}");
        }
    }
}
