//! External name of an account, for the operator's payment provider and for the owner to quote. It reveals nothing, and
//! nobody can guess another account's.

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use crate::account::AccountId;

const PREFIX: &str = "acct_";
const ID_DIGITS: usize = 16;
/// Bytes of the MAC: a guess is right once in 2^128.
const MAC_BYTES: usize = 16;

pub fn of(secrets: &KeyRing, account: AccountId) -> String {
    let mac = keyed(secrets.signing_mac(), account).finalize().into_bytes();
    let mac: String = hex::encode(mac).chars().take(2 * MAC_BYTES).collect();
    format!("{PREFIX}{account}{mac}")
}

pub fn account(secrets: &KeyRing, reference: &str) -> Option<AccountId> {
    let (id, mac) = reference.strip_prefix(PREFIX)?.split_at_checked(ID_DIGITS)?;
    let account = AccountId::parse(id)?;
    let mac = hex::decode(mac).ok().filter(|mac| mac.len() == MAC_BYTES)?;
    let is_ours = |keyed: Hmac<Sha256>| keyed.verify_truncated_left(&mac).is_ok();
    secrets.macs().any(|secret| is_ours(keyed(secret, account))).then_some(account)
}

fn keyed(mut mac: Hmac<Sha256>, account: AccountId) -> Hmac<Sha256> {
    mac.update(b"account reference\0");
    mac.update(&account.as_u64().to_be_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use rcpt_shared::KeyRing;

    use super::{account, of};
    use crate::account::AccountId;

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_reference_leads_to_its_account_while_its_secret_is_live() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let id = AccountId::from_u64(0x0200_0000_0000_00ab);
        let reference = of(&ring(&old), id);
        assert_eq!(reference.len(), 53);
        assert!(reference.starts_with("acct_02000000000000ab"), "{reference}");
        assert_eq!(account(&ring(&old), &reference), Some(id));
        assert_eq!(account(&ring(&format!("{new},{old}")), &reference), Some(id));
        assert_eq!(account(&ring(&new), &reference), None);
    }

    #[test]
    fn no_other_text_leads_to_an_account() {
        let ring = ring(&"w".repeat(43));
        let fine = of(&ring, AccountId::from_u64(7));
        let other = of(&ring, AccountId::from_u64(8));
        let (head, mac) = fine.split_at(21);
        let exchanged = format!("{head}{}", other.split_at(21).1);
        let short = fine.split_at(52).0;
        let long = format!("{fine}0");
        for junk in ["", "acct_", fine.split_at(5).1, short, head, mac, &long, &exchanged] {
            assert_eq!(account(&ring, junk), None, "{junk}");
        }
    }
}
