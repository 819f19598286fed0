//! How much is asked of one operator or machine from one source address: recipients a minute, and
//! refused recipients an hour. Without the second, a list of dead addresses is a directory harvest.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Class, Key, permit::Party};

/// Refusals are counted in slices of this length, over an hour.
const SLICE: Duration = Duration::from_secs(300);
const SLICES: u32 = 12;
/// The recipients of a minute, divided by this, may come at once.
const BURST_SHARE: u32 = 6;

/// Recipients a minute, as a token bucket.
pub(super) struct Recipients {
    interval: Duration,
    burst: Duration,
    /// When the bucket would be full again.
    due: Option<Instant>,
}

impl Recipients {
    pub(super) fn new(per_minute: usize) -> Self {
        let per_minute = u32::try_from(per_minute).unwrap_or(u32::MAX).max(1);
        let interval = Duration::from_secs(60) / per_minute;
        let burst = interval.saturating_mul((per_minute / BURST_SHARE).max(1));
        Self { interval, burst, due: None }
    }

    /// What was counted at the old rate is paid off at it.
    pub(super) fn set_rate(&mut self, per_minute: usize) {
        *self = Self { due: self.due, ..Self::new(per_minute) };
    }

    /// When the next may be asked about, if not now.
    pub(super) fn not_before(&self, now: Instant) -> Option<Instant> {
        let earliest = self.due?.checked_sub(self.burst)?;
        (earliest > now).then_some(earliest)
    }

    pub(super) fn count(&mut self, now: Instant) {
        let from = self.due.map_or(now, |due| due.max(now));
        self.due = Some(from + self.interval);
    }
}

/// Each account of a tenant has a twentieth of the tenant's share of refused recipients for itself.
const ACCOUNTS: usize = 20;

/// Tenant and account.
type Who = (Key, Key);

/// Refused recipients of the last hour, by tenant and account.
pub(super) struct Refusals {
    per_hour: usize,
    slices: VecDeque<(Instant, Vec<(Who, usize)>)>,
}

impl Refusals {
    pub(super) const fn new(per_hour: usize) -> Self {
        Self { per_hour, slices: VecDeque::new() }
    }

    pub(super) const fn set_most(&mut self, per_hour: usize) {
        self.per_hour = per_hour;
    }

    /// How long the party must wait before it asks again, if it must. What one tenant has spent never
    /// stops another's single check. Neither does what one account of a tenant of many has: an account
    /// that has spent little goes on until the tenant has spent the whole hour's number.
    pub(super) fn must_wait(
        &mut self,
        Party { tenant, account, .. }: Party,
        share: usize,
        class: Class,
        now: Instant,
    ) -> Option<Duration> {
        self.forget(now);
        let of_tenant = self.count_of(|other| other.0 == tenant);
        let own = self.count_of(|other| other == (tenant, account));
        let share = share.min(self.per_hour);
        let has_little = own < (share / ACCOUNTS).max(1) && of_tenant < self.per_hour;
        let spent = (of_tenant >= share && !has_little)
            || (class == Class::Batch && self.total() >= self.per_hour);
        let oldest = self.slices.front().filter(|_| spent)?.0;
        Some((oldest + SLICE * SLICES).saturating_duration_since(now))
    }

    pub(super) fn count(&mut self, Party { tenant, account, .. }: Party, now: Instant) {
        self.forget(now);
        let who = (tenant, account);
        let current =
            |(start, _): &&mut (Instant, _)| now.saturating_duration_since(*start) < SLICE;
        match self.slices.back_mut().filter(current) {
            Some((_, counts)) => match counts.iter_mut().find(|(other, _)| *other == who) {
                Some((_, count)) => *count += 1,
                None => counts.push((who, 1)),
            },
            None => self.slices.push_back((now, vec![(who, 1)])),
        }
    }

    /// In the last hour.
    pub(super) fn total(&self) -> usize {
        self.count_of(|_| true)
    }

    pub(super) const fn per_hour(&self) -> usize {
        self.per_hour
    }

    fn count_of(&self, counts: impl Fn(Who) -> bool) -> usize {
        let all = self.slices.iter().flat_map(|(_, parties)| parties);
        all.filter(|(who, _)| counts(*who)).map(|(_, count)| count).sum()
    }

    fn forget(&mut self, now: Instant) {
        while let Some((start, _)) = self.slices.front()
            && now.saturating_duration_since(*start) >= SLICE * SLICES
        {
            self.slices.pop_front();
        }
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        let old = |start: &Instant| now.saturating_duration_since(*start) >= SLICE * SLICES;
        self.slices.iter().all(|(start, _)| old(start))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Recipients, Refusals};
    use crate::pool::{Class, permit::Party};

    fn account(tenant: u64, account: u64) -> Party {
        Party { tenant, account, domain: 0, is_consumer: false }
    }

    fn tenant(name: u64) -> Party {
        account(name, name)
    }

    #[tokio::test(start_paused = true)]
    async fn recipients_come_at_their_rate_after_a_burst() {
        let (mut recipients, now) = (Recipients::new(60), Instant::now());
        let mut at_once = 0;
        while recipients.not_before(now).is_none() {
            recipients.count(now);
            at_once += 1;
        }
        assert_eq!(at_once, 11);
        let wait = recipients.not_before(now).unwrap() - now;
        assert_eq!(wait, Duration::from_secs(1));
        assert!(recipients.not_before(now + wait).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_stop_batches_and_the_tenant_that_spends_them() {
        let (mut refusals, now) = (Refusals::new(100), Instant::now());
        for _ in 0..50 {
            refusals.count(tenant(1), now);
        }
        let mut waits = |who, class, now| refusals.must_wait(tenant(who), 50, class, now).is_some();
        assert!(waits(1, Class::Interactive, now), "its share is spent");
        assert!(!waits(2, Class::Batch, now));
        for name in 10..60 {
            refusals.count(tenant(name), now);
        }
        let mut waits = |who, class, now| refusals.must_wait(tenant(who), 50, class, now).is_some();
        assert!(waits(2, Class::Batch, now), "all is spent");
        assert!(!waits(2, Class::Interactive, now));
        let later = now + Duration::from_secs(3_600);
        assert!(!waits(1, Class::Batch, later));
        assert!(refusals.is_over(later));
    }

    #[tokio::test(start_paused = true)]
    async fn one_account_does_not_spend_the_share_of_the_others_that_are_one_tenant_with_it() {
        let (mut refusals, now) = (Refusals::new(100), Instant::now());
        let waits = |refusals: &mut Refusals, name| {
            refusals.must_wait(account(1, name), 50, Class::Interactive, now).is_some()
        };
        for _ in 0..50 {
            assert!(!waits(&mut refusals, 7));
            refusals.count(account(1, 7), now);
        }
        assert!(waits(&mut refusals, 7), "the one that has spent it");
        for name in 10..35 {
            for _ in 0..2 {
                assert!(!waits(&mut refusals, name), "{name}");
                refusals.count(account(1, name), now);
            }
            assert!(waits(&mut refusals, name), "its twentieth is spent");
        }
        assert!(waits(&mut refusals, 99), "many accounts have no more than the hour's number");
        assert!(refusals.must_wait(tenant(2), 50, Class::Interactive, now).is_none());
    }
}
