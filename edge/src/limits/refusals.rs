//! Rejections remembered by an isolate, so that a caller who is rejected repeatedly costs no
//! further round trip to D1.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::quota;
use crate::credentials::proof::Caller;

/// Reason why a caller was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key or session has ended: it never works again.
    Dead,
    /// The session, key or account isn't active.
    Unauthorised,
    /// The named key may not be used from the client's network.
    Network,
    /// The allowance and the welcome checks, or the key's daily limit, are used up: by charges alone or
    /// by charges and leases together.
    UsedUp { by_charges: bool, limit: UnitLimit },
    /// Fewer units are left than a list has addresses: of the daily allowance, and further welcome checks.
    TooFewLeft { daily: u32, welcome: u32, limit: UnitLimit },
    /// The plan allows no more concurrent checks.
    TooManyInFlight,
}

/// The limit that leaves too few units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitLimit {
    /// The account's daily allowance, and its plan's number of welcome checks.
    Account { daily: u32, welcome: u32 },
    /// The named key's daily limit.
    Key(u32),
}

/// Largest number of remembered callers; about 100 bytes each. When there are more, all are
/// forgotten and learnt again.
const CALLERS_MAX: usize = 10_000;
/// Seconds for which a rejected network is remembered: each rejection costs two trips to the
/// database.
const NETWORK_S: u64 = 10;
/// Seconds for which an exhausted allowance is remembered. The operator may grant more in the
/// meantime.
const USED_UP_S: u64 = 10;

/// Time in Unix seconds until which each caller is rejected without a query.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<HashMap<Caller, (Refusal, u64)>>);

impl Refusals {
    /// The remembered rejection of this caller at `now` (Unix seconds).
    pub fn refusal_of(&self, caller: Caller, now: u64) -> Option<Refusal> {
        let all = self.lock();
        // A rejection for any reason but the network applies to all networks.
        let (anywhere, here) = (caller.anywhere(), caller.in_network());
        let both = [Some(anywhere), Some(here).filter(|here| *here != anywhere)];
        let mut remembered = both.into_iter().flatten().filter_map(|caller| all.get(&caller));
        remembered.find(|(_, until)| now < *until).map(|(refusal, _)| *refusal)
    }

    /// Remembers lasting rejections: an ended key or session until the memory is full, a network or a fully charged
    /// allowance for at most ten seconds. Other reasons may have passed by the next request.
    pub fn learn(&self, caller: Caller, refusal: Refusal, now: u64) {
        let until = match refusal {
            Refusal::Dead => u64::MAX,
            Refusal::Network => now.saturating_add(NETWORK_S),
            Refusal::UsedUp { by_charges: true, .. } => {
                now.saturating_add(USED_UP_S.min(quota::seconds_to_reset(now)))
            }
            Refusal::Unauthorised
            | Refusal::UsedUp { .. }
            | Refusal::TooFewLeft { .. }
            | Refusal::TooManyInFlight => return,
        };
        let mut all = self.lock();
        if all.len() >= CALLERS_MAX {
            all.clear();
        }
        let is_network = refusal == Refusal::Network;
        let caller = if is_network { caller.in_network() } else { caller.anywhere() };
        all.insert(caller, (refusal, until));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Caller, (Refusal, u64)>> {
        // Never contended: an isolate has one thread and holds no lock across an await.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{CALLERS_MAX, Refusal, Refusals, UnitLimit};
    use crate::{
        account::AccountId,
        credentials::{
            named_key::KeyId,
            proof::{Caller, Proof},
        },
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
        let limit = UnitLimit::Account { daily: 100, welcome: 50 };
        let used_up = Refusal::UsedUp { by_charges: true, limit };
        refusals.learn(caller(2), used_up, NOON);
        assert_eq!(refusals.refusal_of(caller(1), NOON + 1_000_000), Some(Refusal::Dead));
        assert!(refusals.refusal_of(caller(2), NOON + 9).is_some());
        assert_eq!(refusals.refusal_of(caller(2), NOON + 10), None);
        refusals.learn(caller(2), used_up, LAST_SECOND);
        assert_eq!(refusals.refusal_of(caller(2), LAST_SECOND + 1), None, "a new day");
    }

    #[test]
    fn a_network_is_remembered_for_the_key_that_came_from_it_and_a_dead_key_for_all_networks() {
        let refusals = Refusals::default();
        let caller_of = |id: u8, from: &str| Caller {
            account: AccountId::from_u64(1),
            proof: Proof::Named {
                id: KeyId::from_random([id; 8]),
                version: 1,
                is_test: false,
                from: from.parse().ok(),
            },
        };
        refusals.learn(caller_of(1, "192.0.2.1"), Refusal::Network, NOON);
        assert_eq!(
            refusals.refusal_of(caller_of(1, "192.0.2.1"), NOON + 9),
            Some(Refusal::Network)
        );
        assert_eq!(refusals.refusal_of(caller_of(1, "192.0.2.1"), NOON + 10), None);
        for other in
            [caller_of(1, "192.0.2.2"), caller_of(2, "192.0.2.1"), caller_of(1, ""), caller(1)]
        {
            assert_eq!(refusals.refusal_of(other, NOON), None, "{other:?}");
        }
        refusals.learn(caller_of(1, "2001:db8:1:2::3"), Refusal::Network, NOON);
        for (from, is_known) in [
            ("2001:db8:1:2:ffff::1", true),
            ("2001:db8:1:3::3", false),
            ("::ffff:192.0.2.1", true),
            ("", false),
        ] {
            let known = refusals.refusal_of(caller_of(1, from), NOON);
            assert_eq!(known.is_some(), is_known, "{from}");
        }
        refusals.learn(caller_of(1, "192.0.2.1"), Refusal::Dead, NOON);
        assert_eq!(
            refusals.refusal_of(caller_of(1, "192.0.2.2"), NOON + 1_000_000),
            Some(Refusal::Dead)
        );
    }

    #[test]
    fn what_may_be_over_soon_is_not_remembered() {
        let refusals = Refusals::default();
        for refusal in [
            Refusal::Unauthorised,
            Refusal::UsedUp { by_charges: false, limit: UnitLimit::Key(1) },
            Refusal::TooFewLeft { daily: 1, welcome: 0, limit: UnitLimit::Key(100) },
            Refusal::TooManyInFlight,
        ] {
            refusals.learn(caller(1), refusal, NOON);
            assert_eq!(refusals.refusal_of(caller(1), NOON), None, "{refusal:?}");
        }
    }

    #[test]
    fn the_memory_is_bounded() {
        let refusals = Refusals::default();
        for id in 0..=u64::try_from(CALLERS_MAX).unwrap() {
            refusals.learn(caller(id), Refusal::Dead, NOON);
        }
        assert_eq!(refusals.lock().len(), 1);
    }
}
