//! Our source addresses at operators: which one is used, and how gradually.
//!
//! An operator's domains leave an address whose rate has stayed at the minimum for an hour, for a day. A new address is
//! used gradually more, because sudden volume looks like an attack; only batches wait for that, single checks are few.

use std::time::Duration;

use tokio::time::Instant;

use crate::question::{OperatorId, Source};

/// Time at the minimum after which an operator's domains move to the next suitable source address.
const TIME_AT_MINIMUM: Duration = Duration::from_secs(3_600);
pub(crate) const REST_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
const DAY_S: u64 = 24 * 3_600;
/// Recipients a minute on the first two days; the number doubles every two days.
const FIRST_PER_MINUTE: usize = 2;
const DOUBLING_S: u64 = 2 * DAY_S;
/// Duration in seconds; at its end the rate is 32,768 a minute, more than any operator ever gets.
const WARM_UP_S: u64 = 28 * DAY_S;

pub(crate) fn per_minute(since: u64, unix_now: u64) -> Option<usize> {
    let age = unix_now.saturating_sub(since);
    (age < WARM_UP_S).then(|| FIRST_PER_MINUTE << (age / DOUBLING_S))
}

pub fn is_new(since: u64, unix_now: u64) -> bool {
    per_minute(since, unix_now).is_some()
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    pub to: usize,
    pub at: Instant,
}

impl Rest {
    pub(crate) fn is_kept(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < REST_LIFETIME
    }

    pub(crate) fn returned(&self, now: Instant) -> Option<Instant> {
        (!self.is_kept(now)).then(|| self.at + REST_LIFETIME)
    }
}

pub(crate) type AtSource = (Option<Instant>, Option<Rest>);

pub(crate) fn source_of(
    operator: OperatorId,
    identity: usize,
    sources: &[Source],
    at: impl Fn(OperatorId, usize) -> AtSource,
    now: Instant,
) -> usize {
    match at(operator, identity).1 {
        Some(rest) if rest.is_kept(now) && may_stand_in(rest.to, identity, sources) => rest.to,
        _ => identity,
    }
}

pub(crate) fn rest(
    operator: OperatorId,
    identity: usize,
    sources: &[Source],
    at: impl Fn(OperatorId, usize) -> AtSource,
    now: Instant,
) -> Option<Rest> {
    let count = sources.len();
    let (floor_since, before) = at(operator, identity);
    // After the domains have returned, the rate may again stay at the minimum for an hour.
    let returned = before.map(|rest| rest.at + REST_LIFETIME);
    let since = floor_since?.max(returned.unwrap_or(floor_since?));
    if now.saturating_duration_since(since) < TIME_AT_MINIMUM {
        return None;
    }
    // An operator's domains move away from only one address at a time, so that at least half of our addresses
    // remain in use there.
    let rests = |number| at(operator, number).1.is_some_and(|rest| rest.is_kept(now));
    if (0..count).any(rests) {
        return None;
    }
    let is_better = |number: &usize| {
        may_stand_in(*number, identity, sources) && at(operator, *number).0.is_none()
    };
    let to = (1..count).map(|step| (identity + step) % count).find(is_better)?;
    Some(Rest { to, at: now })
}

/// Free accounts never use up the reputation of paying accounts' addresses, or the reverse.
fn may_stand_in(number: usize, identity: usize, sources: &[Source]) -> bool {
    let own = sources.get(identity).map(|source| source.class);
    let source = sources.get(number);
    source.is_some_and(|source| source.is_in_use && Some(source.class) == own)
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, per_minute};

    #[test]
    fn it_is_shown_twice_as_often_every_two_days() {
        let on_day = |day: u64| per_minute(1_000, 1_000 + day * DAY_S);
        assert_eq!([0, 1, 2, 4, 10, 27].map(on_day), [2, 2, 4, 8, 64, 16_384].map(Some));
        assert_eq!(on_day(28), None);
        assert_eq!(per_minute(1_000, 0), Some(2), "an address of tomorrow");
    }
}
