//! What an isolate remembers of refusals, so that a caller who is refused again and again costs no
//! further round trip to D1.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::quota;
use crate::credentials::proof::Caller;

/// Why a unit could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key was replaced or its account deleted: it never works again.
    Dead,
    /// The session is over, or the key or account is not active.
    Unauthorised,
    /// Allowance and welcome checks are used up, by charges alone or by charges and leases.
    UsedUp { by_charges: bool, allowance: u32 },
    /// Fewer units are left than the addresses of a list need.
    TooFewLeft { left: u32, allowance: u32 },
    /// As many checks are in flight as the plan allows.
    TooManyInFlight,
}

/// Callers remembered at once; about 100 bytes each. Beyond that all are forgotten and learnt again.
const MOST: usize = 10_000;
/// Seconds for which a used-up allowance is remembered. The operator may grant more meanwhile.
const USED_UP: u64 = 10;

/// Until when (unix seconds) each caller is refused without asking the database.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<Caller, (Refusal, u64)>>);

impl Refusals {
    /// How this caller is known to be refused at `now` (unix seconds).
    pub fn known(&self, caller: Caller, now: u64) -> Option<Refusal> {
        let all = self.lock();
        all.get(&caller).filter(|(_, until)| now < *until).map(|(refusal, _)| *refusal)
    }

    /// Remembers what will not change: a dead key for good, a used-up allowance for some seconds of the
    /// same day. The others may be over with the next request.
    pub fn learn(&self, caller: Caller, refusal: Refusal, now: u64) {
        let until = match refusal {
            Refusal::Dead => u64::MAX,
            Refusal::UsedUp { by_charges: true, .. } => {
                now.saturating_add(USED_UP.min(quota::seconds_to_reset(now)))
            }
            Refusal::Unauthorised
            | Refusal::UsedUp { .. }
            | Refusal::TooFewLeft { .. }
            | Refusal::TooManyInFlight => return,
        };
        let mut all = self.lock();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(caller, (refusal, until));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Caller, (Refusal, u64)>> {
        // Held between two awaits only, in an isolate of one thread: never contended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Refusal, Refusals};
    use crate::{
        account::AccountId,
        credentials::proof::{Caller, Proof},
    };

    const NOON: u64 = 1_795_219_200 + 43_200;
    const LAST_SECOND: u64 = 1_795_219_199;

    fn caller(id: u64) -> Caller {
        Caller { account: AccountId::from_u64(id), proof: Proof::Key { version: 1 } }
    }

    #[test]
    fn a_dead_key_stays_dead_and_a_used_up_allowance_is_asked_about_again() {
        let refusals = Refusals::default();
        refusals.learn(caller(1), Refusal::Dead, NOON);
        let used_up = Refusal::UsedUp { by_charges: true, allowance: 100 };
        refusals.learn(caller(2), used_up, NOON);
        assert_eq!(refusals.known(caller(1), NOON + 1_000_000), Some(Refusal::Dead));
        assert!(refusals.known(caller(2), NOON + 9).is_some());
        assert_eq!(refusals.known(caller(2), NOON + 10), None);
        refusals.learn(caller(2), used_up, LAST_SECOND);
        assert_eq!(refusals.known(caller(2), LAST_SECOND + 1), None, "a new day");
    }

    #[test]
    fn what_may_be_over_soon_is_not_remembered() {
        let refusals = Refusals::default();
        for refusal in [
            Refusal::Unauthorised,
            Refusal::UsedUp { by_charges: false, allowance: 1 },
            Refusal::TooFewLeft { left: 1, allowance: 100 },
            Refusal::TooManyInFlight,
        ] {
            refusals.learn(caller(1), refusal, NOON);
            assert_eq!(refusals.known(caller(1), NOON), None, "{refusal:?}");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let refusals = Refusals::default();
        for id in 0..=u64::try_from(MOST).unwrap() {
            refusals.learn(caller(id), Refusal::Dead, NOON);
        }
        assert_eq!(refusals.lock().len(), 1);
    }
}
