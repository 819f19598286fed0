//! How much is asked of one operator or machine from one source address: recipients a minute, and
//! refused recipients an hour. Without the second, a list of dead addresses is a directory harvest.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use super::{Class, Key};

/// Refusals are counted in slices of this length, over an hour.
const SLICE: Duration = Duration::from_secs(300);
const SLICES: u32 = 12;
/// Of the recipients of a minute, so many may come at once.
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

/// Refused recipients of the last hour, by tenant.
pub(super) struct Refusals {
    per_hour: usize,
    slices: VecDeque<(Instant, Vec<(Key, usize)>)>,
}

impl Refusals {
    pub(super) const fn new(per_hour: usize) -> Self {
        Self { per_hour, slices: VecDeque::new() }
    }

    pub(super) const fn set_most(&mut self, per_hour: usize) {
        self.per_hour = per_hour;
    }

    /// How long the tenant must wait before it asks again, if it must. What one tenant has spent never
    /// stops another's single check.
    pub(super) fn must_wait(
        &mut self,
        tenant: Key,
        share: usize,
        class: Class,
        now: Instant,
    ) -> Option<Duration> {
        self.forget(now);
        let own = self.count_of(|other| other == tenant);
        let all = self.count_of(|_| true);
        let spent =
            own >= share.min(self.per_hour) || (class == Class::Batch && all >= self.per_hour);
        let oldest = self.slices.front().filter(|_| spent)?.0;
        Some((oldest + SLICE * SLICES).saturating_duration_since(now))
    }

    pub(super) fn count(&mut self, tenant: Key, now: Instant) {
        self.forget(now);
        let current =
            |(start, _): &&mut (Instant, _)| now.saturating_duration_since(*start) < SLICE;
        match self.slices.back_mut().filter(current) {
            Some((_, counts)) => match counts.iter_mut().find(|(other, _)| *other == tenant) {
                Some((_, count)) => *count += 1,
                None => counts.push((tenant, 1)),
            },
            None => self.slices.push_back((now, vec![(tenant, 1)])),
        }
    }

    /// In the last hour.
    pub(super) fn total(&self) -> usize {
        self.count_of(|_| true)
    }

    pub(super) const fn per_hour(&self) -> usize {
        self.per_hour
    }

    fn count_of(&self, counts: impl Fn(Key) -> bool) -> usize {
        let all = self.slices.iter().flat_map(|(_, tenants)| tenants);
        all.filter(|(tenant, _)| counts(*tenant)).map(|(_, count)| count).sum()
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
    use crate::pool::Class;

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
            refusals.count(1, now);
        }
        assert!(refusals.must_wait(1, 50, Class::Interactive, now).is_some(), "its share is spent");
        assert!(refusals.must_wait(2, 50, Class::Batch, now).is_none());
        for tenant in 10..60 {
            refusals.count(tenant, now);
        }
        assert!(refusals.must_wait(2, 50, Class::Batch, now).is_some(), "all is spent");
        assert!(refusals.must_wait(2, 50, Class::Interactive, now).is_none());
        let later = now + Duration::from_secs(3_600);
        assert!(refusals.must_wait(1, 50, Class::Batch, later).is_none());
        assert!(refusals.is_over(later));
    }
}
