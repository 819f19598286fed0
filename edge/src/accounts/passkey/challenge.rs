//! Challenges for passkeys: the time, random bytes, and a MAC over both and over the purpose. Nothing is stored before
//! a challenge is answered.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::Mac as _;
use rcpt_shared::KeyRing;
use sha2::{Digest as _, Sha256};

use crate::credentials::session::Session;

/// Seconds for which a challenge can be answered.
pub const CHALLENGE_TTL_S: u64 = 5 * 60;
pub const RANDOM_BYTES: usize = 24;
const TIME_BYTES: usize = 8;

#[derive(Debug, Clone, Copy)]
pub enum ChallengePurpose {
    SignIn,
    /// Adding a passkey, in the session in which the password was presented.
    Registration(Session),
}

impl ChallengePurpose {
    pub fn challenge(self, keys: &KeyRing, now: u64, random: [u8; RANDOM_BYTES]) -> String {
        let head = [&now.to_be_bytes()[..], &random].concat();
        let mut mac = keys.signing_mac();
        self.feed(&mut mac, &head);
        let tag = mac.finalize().into_bytes();
        URL_SAFE_NO_PAD.encode([head.as_slice(), &tag].concat())
    }

    pub fn is_answered_by(self, keys: &KeyRing, now: u64, challenge: &[u8]) -> bool {
        let Some((head, tag)) = challenge.split_at_checked(TIME_BYTES + RANDOM_BYTES) else {
            return false;
        };
        let Some((time, _)) = head.split_first_chunk::<TIME_BYTES>() else { return false };
        let at = u64::from_be_bytes(*time);
        let is_genuine = keys.macs().any(|mut mac| {
            self.feed(&mut mac, head);
            mac.verify_slice(tag).is_ok()
        });
        // The clock of another isolate may be seconds ahead.
        is_genuine && at <= now.saturating_add(5) && now < at.saturating_add(CHALLENGE_TTL_S)
    }

    fn feed(self, mac: &mut impl hmac::Mac, head: &[u8]) {
        mac.update(b"rcpt passkey challenge\0");
        match self {
            Self::SignIn => mac.update(b"sign-in\0"),
            Self::Registration(session) => {
                let (account, id) = session.texts();
                mac.update([account, id, String::new()].join("\0").as_bytes());
            }
        }
        mac.update(head);
    }
}

pub fn name_of(challenge: &[u8]) -> String {
    hex::encode(Sha256::digest(challenge))
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use rcpt_shared::KeyRing;

    use super::ChallengePurpose;
    use crate::{
        account::AccountId,
        credentials::session::{Session, SessionId},
    };

    const NOW: u64 = 1_790_000_000;

    fn keys(letter: &str) -> KeyRing {
        KeyRing::parse(&letter.repeat(43)).unwrap()
    }

    #[test]
    fn a_challenge_is_good_for_five_minutes_its_purpose_and_its_session() {
        let session =
            |id| Session { account: AccountId::from_u64(7), id: SessionId::from_random([id; 16]) };
        let purposes = [
            ChallengePurpose::SignIn,
            ChallengePurpose::Registration(session(1)),
            ChallengePurpose::Registration(session(2)),
        ];
        for (index, purpose) in purposes.into_iter().enumerate() {
            let challenge = purpose.challenge(&keys("w"), NOW, [3; 24]);
            let bytes = URL_SAFE_NO_PAD.decode(challenge).unwrap();
            for (other, answered) in purposes.into_iter().enumerate() {
                assert_eq!(answered.is_answered_by(&keys("w"), NOW, &bytes), index == other);
            }
            assert!(purpose.is_answered_by(&keys("w"), NOW + 299, &bytes));
            assert!(!purpose.is_answered_by(&keys("w"), NOW + 300, &bytes));
            assert!(!purpose.is_answered_by(&keys("w"), NOW - 6, &bytes));
            assert!(!purpose.is_answered_by(&keys("0"), NOW, &bytes));
            for index in 0..bytes.len() {
                let mut changed = bytes.clone();
                changed[index] ^= 1;
                assert!(!purpose.is_answered_by(&keys("w"), NOW, &changed), "{index}");
                assert!(!purpose.is_answered_by(&keys("w"), NOW, &bytes[..index]), "{index}");
            }
        }
    }
}
