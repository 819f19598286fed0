//! Names under which origins count accounts' checks. They reveal nothing; the Worker alone can say whose they are.

use aes_gcm::aes::{
    Aes256, Block,
    cipher::{BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _},
};
use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use crate::account::AccountId;

/// The account's id and eight zeros, encrypted as one block of AES under the signing secret: 32 hexadecimal digits. The
/// name changes once when a new secret becomes the first of the ring; the origins then count from zero.
pub fn name(secrets: &KeyRing, account: AccountId) -> String {
    let mut block = Block::from((u128::from(account.as_u64()) << 64).to_be_bytes());
    cipher(secrets.signing_mac()).encrypt_block(&mut block);
    hex::encode(block)
}

pub fn account(secrets: &KeyRing, name: &str) -> Option<AccountId> {
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
    use rcpt_shared::KeyRing;

    use super::{account, name};
    use crate::account::AccountId;

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    #[test]
    fn a_name_leads_to_its_account_while_its_secret_is_live() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let id = AccountId::from_u64(0x0200_0000_0000_00ab);
        let tenant = name(&ring(&old), id);
        assert_eq!(tenant.len(), 32);
        assert!(!tenant.contains("ab00000000"), "{tenant}");
        assert_ne!(tenant, name(&ring(&old), AccountId::from_u64(0x0200_0000_0000_00ac)));
        assert_eq!(account(&ring(&old), &tenant), Some(id));
        assert_eq!(account(&ring(&format!("{new},{old}")), &tenant), Some(id));
        assert_eq!(account(&ring(&new), &tenant), None);
        assert_ne!(name(&ring(&format!("{new},{old}")), id), tenant);
    }

    #[test]
    fn no_other_text_leads_to_an_account() {
        let ring = ring(&"w".repeat(43));
        let fine = name(&ring, AccountId::from_u64(7));
        for junk in ["", "me", fine.split_at(31).0, &format!("{fine}00"), &"0".repeat(32)] {
            assert_eq!(account(&ring, junk), None, "{junk}");
        }
    }
}
