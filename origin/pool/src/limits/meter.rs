//! Counters for one operator from one source address, or for one machine of no known operator.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    rate::Rate,
    refused::{Asking, RefusedLately, RefusedPerHour},
};
use crate::{
    question::{Cause, Key, May, both},
    settings::Limits,
};

pub(crate) struct Meter {
    limits: Limits,
    pub in_use: usize,
    pub idle: usize,
    pub rate: Rate,
    pub per_hour: RefusedPerHour,
    pub lately: RefusedLately,
    recipients: Bucket,
    new_sessions: Bucket,
    new_sessions_alone: Bucket,
    warm_up: Bucket,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            in_use: 0,
            idle: 0,
            rate: Rate::new(limits.interval),
            per_hour: RefusedPerHour::new(limits.refused_per_hour),
            lately: RefusedLately::new(limits.refused_lately),
            recipients: Bucket::default(),
            new_sessions: Bucket::default(),
            new_sessions_alone: Bucket::default(),
            warm_up: Bucket::default(),
        }
    }

    pub(crate) const fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.rate.set_base(limits.interval);
        self.per_hour.set_most(limits.refused_per_hour);
        self.lately.set_most(limits.refused_lately);
    }

    pub(crate) const fn sessions(&self) -> usize {
        self.limits.sessions
    }

    /// Whether one more recipient may be asked about. `warm_up` is the number a minute of batches from a new source
    /// address.
    pub(crate) fn may_ask(&self, asking: Asking, warm_up: Option<usize>, now: Instant) -> May {
        let refused = self.per_hour.may_ask(asking, now).max(self.lately.may_ask(asking, now));
        let warms_up = warm_up.and_then(|_| self.warm_up.not_before(now));
        let told = both(Cause::Refusals.from(refused), Cause::WarmUp.from(warms_up));
        told.and(Cause::Rate.from(self.recipients_not_before(now)))
    }

    pub(crate) fn recipients_not_before(&self, now: Instant) -> Option<Instant> {
        self.recipients.not_before(now)
    }

    pub(crate) fn may_open(&self, group: Key, now: Instant) -> May {
        let alone = self.rate.lowered_alone() == Some(group);
        let alone = alone.then(|| self.new_sessions_alone.not_before(now)).flatten();
        Cause::Rate.from(self.new_sessions.not_before(now).max(alone))
    }

    pub(crate) fn take_recipient(&mut self, warm_up: Option<usize>, now: Instant) {
        if self.limits != Limits::NONE {
            let (interval, burst) = per_minute(self.limits.recipients_per_minute);
            self.recipients.take(interval, burst, now);
        }
        if let Some(number) = warm_up {
            let (interval, burst) = per_minute(number);
            self.warm_up.take(interval, burst, now);
        }
    }

    pub(crate) fn take_session(&mut self, group: Key, now: Instant) {
        if self.rate.lowered_alone() == Some(group) {
            self.new_sessions_alone.take(self.rate.interval(), 0, now);
        }
        // A lowered rate allows no burst.
        let is_lowered = self.rate.lowered().is_some() && self.rate.lowered_alone().is_none();
        let burst = if is_lowered { 0 } else { self.limits.sessions.saturating_sub(1) };
        self.new_sessions.take(self.rate.interval_for_all(), burst, now);
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.per_hour.forget(now);
        self.lately.forget(now);
        self.rate.forget(now);
    }

    /// True if no later request depends on the meter, which can then be removed.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.in_use == 0
            && self.idle == 0
            && self.new_sessions.not_before(now).is_none()
            && self.rate.is_over(now)
            && self.per_hour.total(now) == 0
    }
}

/// A rate: some may come at once, and further ones at an interval.
#[derive(Clone, Copy, Default)]
struct Bucket {
    next: Option<Instant>,
}

impl Bucket {
    fn not_before(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|due| *due > now)
    }

    /// After a pause, one more than `burst` may come at once.
    fn take(&mut self, interval: Duration, burst: usize, now: Instant) {
        if interval.is_zero() {
            return;
        }
        let burst = u32::try_from(burst).unwrap_or(u32::MAX);
        let earliest = now.checked_sub(interval.saturating_mul(burst)).unwrap_or(now);
        let from = self.next.map_or(earliest, |due| due.max(earliest));
        self.next = Some(from + interval);
    }
}

/// Interval and burst of a number per minute. The burst is what comes in ten seconds.
fn per_minute(number: usize) -> (Duration, usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX).max(1);
    (Duration::from_secs(60) / number, (number / 6).max(1) as usize)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Bucket, Meter, per_minute};
    use crate::settings::Limits;

    const LIMITS: Limits = Limits {
        sessions: 10,
        interval: Duration::from_millis(500),
        recipients_per_minute: 60,
        refused_per_hour: 100,
        refused_lately: usize::MAX,
    };

    #[tokio::test(start_paused = true)]
    async fn a_lowered_rate_allows_no_burst() {
        for (lowered, due) in [(false, None), (true, Some(Duration::from_secs(1)))] {
            let (mut meter, now) = (Meter::new(LIMITS), Instant::now());
            if lowered {
                meter.rate.hear_machine(7, "go away", now);
            }
            meter.take_session(1, now);
            let until = meter.may_open(1, now).err().and_then(|not| not.until);
            assert_eq!(until.map(|until| until - now), due);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn recipients_come_at_their_rate_after_a_burst() {
        let (mut recipients, now) = (Bucket::default(), Instant::now());
        let (interval, burst) = per_minute(60);
        let mut at_once = 0;
        while recipients.not_before(now).is_none() {
            recipients.take(interval, burst, now);
            at_once += 1;
        }
        assert_eq!(at_once, 11);
        let wait = recipients.not_before(now).unwrap() - now;
        assert_eq!(wait, Duration::from_secs(1));
        assert!(recipients.not_before(now + wait).is_none());
    }
}
