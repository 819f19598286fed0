//! Rejections remembered by an isolate, so that a caller who is rejected repeatedly costs no
//! further round trip to D1.

use super::quota;
use crate::{
    credentials::proof::Caller,
    isolate::{FOREVER, Map},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key or session has ended: it never works again.
    Dead,
    /// The session, key or account isn't active.
    Unauthorised,
    /// The allowance and the welcome checks, or the key's daily limit, are used up.
    UsedUp { by_charges: bool, limit: UnitLimit },
    /// Fewer units are left than a list has addresses: of the daily allowance, and further welcome checks.
    TooFewLeft { daily: u32, welcome: u32, limit: UnitLimit },
    /// The plan allows no more concurrent checks.
    TooManyInFlight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitLimit {
    /// The account's daily allowance, and its plan's number of welcome checks.
    Account { daily: u32, welcome: u32 },
    /// The key's daily limit.
    Key(u32),
}

/// Largest number of remembered callers; about 100 bytes each.
const CALLERS_MAX: usize = 10_000;
/// Seconds for which an exhausted allowance is remembered. The operator may grant more in the meantime, and a key that
/// ends meanwhile gets 401 afterwards.
const USED_UP_S: u64 = 10;

#[derive(Debug)]
pub struct Refusals(Map<Caller, Refusal>);

impl Default for Refusals {
    fn default() -> Self {
        Self(Map::new(CALLERS_MAX))
    }
}

impl Refusals {
    pub fn refusal_of(&self, caller: Caller, now: u64) -> Option<Refusal> {
        self.0.get(&caller, now)
    }

    /// Remembers lasting rejections: an ended key or session until the memory is full, a fully charged allowance for at
    /// most ten seconds. Other reasons may have passed by the next request.
    pub fn learn(&self, caller: Caller, refusal: Refusal, now: u64) {
        let until = match refusal {
            Refusal::Dead => FOREVER,
            Refusal::UsedUp { by_charges: true, .. } => {
                now.saturating_add(USED_UP_S.min(quota::seconds_to_reset(now)))
            }
            Refusal::Unauthorised
            | Refusal::UsedUp { .. }
            | Refusal::TooFewLeft { .. }
            | Refusal::TooManyInFlight => return,
        };
        self.0.insert(caller, refusal, until, now);
    }
}

#[cfg(test)]
mod tests {
    use super::{Refusal, Refusals, UnitLimit};
    use crate::{
        account::AccountId,
        credentials::{api_key::ApiKey, proof::Caller},
    };

    const NOON: u64 = 1_795_219_200 + 43_200;
    const LAST_SECOND: u64 = 1_795_219_199;

    fn caller(id: u64) -> Caller {
        ApiKey::own(AccountId::from_u64(id), 1).into()
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
}
