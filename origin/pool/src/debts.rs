//! Sessions that servers closed on us at RCPT, and sessions that were held for long while others waited, by account.
//! While an account is in debt, its domains without a recent answer are asked at most once a second; other domains
//! aren't affected. Debts are counted by account and not by group, because otherwise one free account would delay all.

use std::time::Duration;

use tokio::time::Instant;

use super::{Key, hash_key::ByKey};

/// Time between two checks of unproven domains of an account in debt.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Lifetime of a debt after the end of the account's wait.
const DEBT_LIFETIME: Duration = Duration::from_secs(60);
/// Number of closed or held sessions without consequences, because they may be chance.
const CHANCE_MAX: u32 = 1;
/// Greatest factor of the wait for a held session; the factor doubles with each further session.
const TIMES_MAX: u32 = 32;
const MAX_DEBTORS: usize = 256;

#[derive(Default)]
pub(super) struct Debts(ByKey<Debt>);

#[derive(Clone, Copy)]
struct Debt {
    /// Number of sessions that were closed or held.
    costs: u32,
    next: Instant,
    until: Instant,
}

impl Debts {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.0.values().all(|debt| debt.until <= now)
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.0.retain(|_, debt| debt.until > now);
    }

    pub(super) fn record_closed(&mut self, account: Key, now: Instant) {
        self.cost(account, Duration::ZERO, now);
    }

    /// From the second session, the account owes the session's time, and a growing multiple for further sessions.
    /// Without a debt, each new domain could hold a session until its first cut.
    pub(super) fn record_held(&mut self, account: Key, took: Duration, now: Instant) {
        self.cost(account, took, now);
    }

    fn cost(&mut self, account: Key, took: Duration, now: Instant) {
        self.forget(now);
        if self.0.len() >= MAX_DEBTORS && !self.0.contains_key(&account) {
            return;
        }
        let debt = self.0.entry(account).or_insert(Debt { costs: 0, next: now, until: now });
        let times = match debt.costs {
            0 => 0,
            costs => 1_u32.checked_shl(costs - 1).unwrap_or(TIMES_MAX).min(TIMES_MAX),
        };
        let owed = took.saturating_mul(times);
        debt.costs += 1;
        debt.next = debt.next.max(now + owed);
        debt.until = debt.next + DEBT_LIFETIME;
    }

    pub(super) fn due(&self, account: Key, now: Instant) -> Instant {
        match self.0.get(&account) {
            Some(debt) if debt.until > now && debt.costs > CHANCE_MAX => debt.next.max(now),
            Some(_) | None => now,
        }
    }

    pub(super) fn take(&mut self, account: Key, at: Instant) {
        if let Some(debt) = self.0.get_mut(&account).filter(|debt| debt.costs > CHANCE_MAX) {
            debt.next = at + CHECK_INTERVAL;
        }
    }

    /// Changes nothing if a later time was reserved since.
    pub(super) fn give_back(&mut self, account: Key, at: Instant) {
        if let Some(debt) = self.0.get_mut(&account).filter(|debt| debt.next == at + CHECK_INTERVAL)
        {
            debt.next = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{DEBT_LIFETIME, Debts};

    #[tokio::test(start_paused = true)]
    async fn an_account_that_holds_sessions_owes_their_time_and_more_each_time() {
        let (mut debts, mut now) = (Debts::default(), Instant::now());
        let took = Duration::from_secs(6);
        let mut waits = Vec::new();
        for _ in 0..9 {
            debts.record_held(1, took, now);
            let due = debts.due(1, now);
            waits.push(due.duration_since(now).as_secs());
            debts.take(1, due);
            now = due + took;
        }
        assert_eq!(waits, [0, 6, 12, 24, 48, 96, 192, 192, 192]);
        assert_eq!(debts.due(2, now), now, "not another's");
    }

    #[tokio::test(start_paused = true)]
    async fn an_account_that_costs_sessions_comes_once_a_second_for_a_minute() {
        let (mut debts, now) = (Debts::default(), Instant::now());
        debts.record_closed(1, now);
        assert_eq!(debts.due(1, now), now, "one may be chance");
        debts.record_closed(1, now);
        let mut pass = || {
            let at = debts.due(1, now);
            debts.take(1, at);
            at.duration_since(now).as_secs()
        };
        assert_eq!([(); 4].map(|()| pass()), [0, 1, 2, 3]);
        debts.give_back(1, now + Duration::from_secs(1));
        assert_eq!(debts.due(1, now).duration_since(now).as_secs(), 4, "others have passed since");
        debts.give_back(1, now + Duration::from_secs(3));
        assert_eq!(debts.due(1, now).duration_since(now).as_secs(), 3);
        assert_eq!(debts.due(2, now), now, "not another's");
        let later = now + DEBT_LIFETIME + Duration::from_secs(1);
        assert_eq!(debts.due(1, later), later);
    }
}
