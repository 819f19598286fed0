//! Names and secrets of the guard's hooks: derived like API keys, and not stored. A name that was never issued is
//! detected without a query.

use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

use super::{base62, webhook_secret};
use crate::account::AccountId;

/// Digits for 96 bits: 62^17 > 2^96.
const SUBJECT_WIDTH: usize = 17;
/// Digits for 128 bits: 62^22 > 2^128.
const MAC_WIDTH: usize = 22;
const MAC_BYTES: usize = 16;

/// A hook of an account; each version has its own name and secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardHook {
    pub account: AccountId,
    pub version: u32,
}

impl GuardHook {
    pub fn name(self, keys: &KeyRing) -> String {
        let tag = self.over(keys.signing_mac()).finalize().into_bytes();
        let tag = tag.first_chunk::<MAC_BYTES>().map_or(0, |bytes| u128::from_be_bytes(*bytes));
        let subject = u128::from(self.account.as_u64()) << 32 | u128::from(self.version);
        let mut text = String::new();
        base62::push(&mut text, subject, SUBJECT_WIDTH);
        base62::push(&mut text, tag, MAC_WIDTH);
        text
    }

    pub fn of(keys: &KeyRing, name: &str) -> Option<Self> {
        let is_whole = name.is_ascii() && name.len() == SUBJECT_WIDTH + MAC_WIDTH;
        let (subject, tag) = is_whole.then(|| name.split_at_checked(SUBJECT_WIDTH))??;
        let (subject, tag) = (base62::parse(subject)?, base62::parse(tag)?.to_be_bytes());
        let account = AccountId::from_u64(u64::try_from(subject >> 32).ok()?);
        let version = u32::try_from(subject & u128::from(u32::MAX)).ok()?;
        let hook = Self { account, version };
        let is_ours = |mac| hook.over(mac).verify_truncated_left(&tag).is_ok();
        keys.macs().any(is_ours).then_some(hook)
    }

    /// The secret in Supabase's format.
    pub fn secret(self, keys: &KeyRing) -> String {
        format!("v1,{}", webhook_secret::text(keys, self.account, &self.secret_name()))
    }

    pub fn macs(self, keys: &KeyRing) -> Vec<Hmac<Sha256>> {
        webhook_secret::macs(keys, self.account, &self.secret_name()).collect()
    }

    /// Not hexadecimal, unlike the names of webhooks' secrets.
    fn secret_name(self) -> String {
        format!("guard hook {}", self.version)
    }

    fn over(self, mut mac: Hmac<Sha256>) -> Hmac<Sha256> {
        mac.update(b"rcpt guard hook\0");
        mac.update(&self.account.as_u64().to_be_bytes());
        mac.update(&self.version.to_be_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use hmac::{Hmac, KeyInit as _, Mac as _};
    use rcpt_shared::KeyRing;
    use sha2::Sha256;

    use super::GuardHook;
    use crate::account::AccountId;

    fn ring(text: &str) -> KeyRing {
        KeyRing::parse(text).unwrap()
    }

    const HOOK: GuardHook =
        GuardHook { account: AccountId::from_u64(0xdead_beef_0123_4567), version: 7 };

    #[test]
    fn a_name_leads_to_its_hook_while_its_secret_is_live() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let name = HOOK.name(&ring(&old));
        assert_eq!(GuardHook::of(&ring(&old), &name), Some(HOOK));
        assert_eq!(GuardHook::of(&ring(&format!("{new},{old}")), &name), Some(HOOK));
        assert_eq!(GuardHook::of(&ring(&new), &name), None);
    }

    #[test]
    fn junk_and_changed_names_lead_nowhere() {
        let keys = ring(&"w".repeat(43));
        let name = HOOK.name(&keys);
        for position in 0..name.len() {
            let mut changed = name.clone().into_bytes();
            changed[position] = if changed[position] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(GuardHook::of(&keys, &changed), None, "{changed}");
        }
        let (subject, tag) = name.split_at(17);
        let padded = format!("{subject}0{tag}");
        for junk in ["", "x", "é", &format!("{name}0"), &padded, &"z".repeat(39)] {
            assert_eq!(GuardHook::of(&keys, junk), None, "{junk}");
        }
    }

    #[test]
    fn each_version_has_a_secret_of_its_own() {
        let keys = ring(&"w".repeat(43));
        let secret = HOOK.secret(&keys);
        assert!(secret.starts_with("v1,whsec_"), "{secret}");
        assert_ne!(secret, GuardHook { version: 8, ..HOOK }.secret(&keys));
    }

    #[test]
    fn a_call_counts_if_it_is_signed_with_the_hooks_secret_of_any_live_ring() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let secret = HOOK.secret(&ring(&old));
        let secret = STANDARD.decode(secret.strip_prefix("v1,whsec_").unwrap()).unwrap();
        let signed = |mac: Hmac<Sha256>| mac.chain_update("call").finalize().into_bytes();
        let due = signed(Hmac::new_from_slice(&secret).unwrap());
        let both = HOOK.macs(&ring(&format!("{new},{old}")));
        assert_eq!(both.into_iter().map(signed).filter(|tag| *tag == due).count(), 1);
        let other = GuardHook { version: 8, ..HOOK };
        assert!(other.macs(&ring(&old)).into_iter().map(signed).all(|tag| tag != due));
    }
}
