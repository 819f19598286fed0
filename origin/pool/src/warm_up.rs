//! A new source address is used gradually more at each operator, because sudden volume looks like an attack. Only
//! batches wait for the warm-up; single checks are few. An address that is on a blocklist, or to which
//! domains have returned, is introduced again.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::{Pool, State, operators::OperatorId, recipients::Recipients};

const DAY_S: u64 = 24 * 3_600;
/// Recipients a minute on the first two days; the number doubles every two days.
const FIRST_PER_MINUTE: usize = 2;
const DOUBLING_S: u64 = 2 * DAY_S;
/// Duration in seconds; at its end the rate is 32,768 a minute, more than any operator ever gets.
const WARM_UP_S: u64 = 28 * DAY_S;

/// Recipients a minute that batches may check from an address that mail servers have seen since `since`; `None` for no
/// limit.
fn per_minute(since: u64, now: u64) -> Option<usize> {
    let age = now.saturating_sub(since);
    (age < WARM_UP_S).then(|| FIRST_PER_MINUTE << (age / DOUBLING_S))
}

/// Recipients that batches have checked at operators from new source addresses.
#[derive(Default)]
pub(super) struct WarmUp {
    passed: HashMap<(OperatorId, usize), (usize, Recipients)>,
    /// Unix time since which a blocklist contains each source address, by number.
    listed: Vec<Option<u64>>,
}

impl<S: Send + 'static> Pool<S> {
    /// Sets the Unix times since which blocklists contain the source addresses: batches then use an
    /// address like one that is new since that time. A wrong blocklist stops nobody.
    pub fn set_listed(&self, since: Vec<Option<u64>>) {
        self.lock().warm_up.listed = since;
    }

    /// The Unix time at which the source address's last warm-up at the operator began, even if it has ended; `None` if
    /// there was none.
    pub(super) fn warms_up_since(
        &self,
        state: &State<S>,
        operator: OperatorId,
        identity: usize,
    ) -> Option<u64> {
        let now = Instant::now();
        let rest = state.moves.get(&(operator, identity));
        let returned = rest.and_then(|rest| rest.returned(now)).map(|at| {
            (self.unix_now)().saturating_sub(now.saturating_duration_since(at).as_secs())
        });
        let configured = self.settings().sources.get(identity).and_then(|source| source.since);
        let listed = state.warm_up.listed.get(identity).copied().flatten();
        [returned, configured, listed].into_iter().flatten().max()
    }
}

/// True if an address first seen at `since` is still new.
pub fn is_new(since: u64, unix_now: u64) -> bool {
    per_minute(since, unix_now).is_some()
}

impl WarmUp {
    /// The error is the time that the batch must wait. `unix_now` and `since` are in Unix seconds.
    pub(super) fn pass(
        &mut self,
        operator: OperatorId,
        identity: usize,
        since: u64,
        unix_now: u64,
    ) -> Result<(), Duration> {
        let now = Instant::now();
        let Some(rate) = per_minute(since, unix_now) else {
            self.passed.remove(&(operator, identity));
            return Ok(());
        };
        let new = || (rate, Recipients::new(rate));
        let (known, recipients) = self.passed.entry((operator, identity)).or_insert_with(new);
        if *known != rate {
            (*known, *recipients) = new();
        }
        match recipients.not_before(now) {
            Some(due) => Err(due.saturating_duration_since(now)),
            None => {
                recipients.count(now);
                Ok(())
            }
        }
    }

    /// The control recipient doesn't wait; the next recipients wait longer instead.
    pub(super) fn count_control(&mut self, operator: OperatorId, identity: usize, now: Instant) {
        if let Some((_, recipients)) = self.passed.get_mut(&(operator, identity)) {
            recipients.count(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Duration, advance};

    use super::{DAY_S, WarmUp, per_minute};

    #[test]
    fn it_is_shown_twice_as_often_every_two_days() {
        let on_day = |day: u64| per_minute(1_000, 1_000 + day * DAY_S);
        assert_eq!([0, 1, 2, 4, 10, 27].map(on_day), [2, 2, 4, 8, 64, 16_384].map(Some));
        assert_eq!(on_day(28), None);
        assert_eq!(per_minute(1_000, 0), Some(2), "an address of tomorrow");
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_from_a_new_address_waits_and_each_operator_has_its_own_count() {
        let mut warm_up = WarmUp::default();
        let mut passed = 0;
        while warm_up.pass(1, 0, 0, 60).is_ok() {
            passed += 1;
        }
        assert!((1..=2).contains(&passed), "{passed} at once");
        assert!(warm_up.pass(2, 0, 0, 60).is_ok() && warm_up.pass(1, 1, 0, 60).is_ok());
        advance(Duration::from_secs(30)).await;
        assert!(warm_up.pass(1, 0, 0, 60).is_ok(), "two a minute");
        assert!(warm_up.pass(1, 0, 0, 60).is_err());
        assert!(warm_up.pass(1, 0, 0, 60 * DAY_S).is_ok(), "it is known by then");
    }
}
