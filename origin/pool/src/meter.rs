//! Counters for one operator from one source address, or for one machine of no known operator:
//! sessions, their rate, recipients and refusals.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Class, debts::Debts, lately::Lately, rate::Rate, recipients::Recipients, refusals::Refusals,
    want::Want,
};

/// Limits of one operator or one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent sessions, including idle ones.
    pub sessions: usize,
    /// Time between two new sessions, once the first `sessions` are open.
    pub interval: Duration,
    pub recipients_per_minute: usize,
    pub refused_per_hour: usize,
    /// Refused recipients in ten minutes, after which batches stay away.
    pub refused_lately: usize,
}

impl Limits {
    pub(super) const NONE: Self = Self {
        sessions: usize::MAX,
        interval: Duration::ZERO,
        recipients_per_minute: usize::MAX,
        refused_per_hour: usize::MAX,
        refused_lately: usize::MAX,
    };
}

/// Totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub sessions: u64,
    pub recipients: u64,
    /// Refused recipients.
    pub refused: u64,
    /// Replies that refused us instead of a recipient.
    pub refusals_of_us: u64,
    /// Sessions that were ended because they were held for long while others waited.
    pub cut: u64,
}

pub(super) struct Meter {
    pub sessions: usize,
    pub in_use: usize,
    pub idle: usize,
    pub rate: Rate,
    pub recipients: Recipients,
    pub refusals: Refusals,
    pub refused_lately: Lately,
    pub debts: Debts,
    pub totals: Totals,
    is_limited: bool,
    /// Earliest time of the next new session; it's in the past while a burst is left.
    next_new: Option<Instant>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            sessions: limits.sessions,
            in_use: 0,
            idle: 0,
            rate: Rate::new(limits.interval),
            recipients: Recipients::new(limits.recipients_per_minute),
            refusals: Refusals::new(limits.refused_per_hour),
            refused_lately: Lately::new(limits.refused_lately),
            debts: Debts::default(),
            totals: Totals::default(),
            is_limited: limits != Limits::NONE,
            next_new: None,
        }
    }

    pub(super) fn set_limits(&mut self, limits: Limits) {
        self.sessions = limits.sessions;
        self.rate.set_base(limits.interval);
        self.recipients.set_rate(limits.recipients_per_minute);
        self.refusals.set_most(limits.refused_per_hour);
        self.refused_lately.set_most(limits.refused_lately);
        self.is_limited = limits != Limits::NONE;
    }

    pub(super) fn refusal_wait(&self, want: &Want, now: Instant) -> Option<Duration> {
        let share = want.share_of(self.refusals.per_hour());
        let of_hour = self.refusals.must_wait(want.party, share, want.class, now);
        of_hour.max(self.refused_lately.must_wait(want, now))
    }

    pub(super) fn spares_refusal(&self, class: Class, now: Instant) -> bool {
        self.refused_lately.spares_one(class, now) && self.refusals.spares_one(now)
    }

    pub(super) fn recipient_not_before(&self, now: Instant) -> Option<Instant> {
        if self.is_limited { self.recipients.not_before(now) } else { None }
    }

    /// `None` if the next session may open now. Batches leave one session free for interactive checks.
    pub(super) fn session_not_before(&self, class: Class, now: Instant) -> Option<Instant> {
        let spare = match class {
            Class::Interactive => Duration::ZERO,
            Class::Batch => self.rate.interval(),
        };
        self.next_new.map(|due| due + spare).filter(|due| *due > now)
    }

    pub(super) fn count_recipient(&mut self, now: Instant) {
        self.totals.recipients += 1;
        if self.is_limited {
            self.recipients.count(now);
        }
    }

    pub(super) fn count_session(&mut self, now: Instant) {
        self.totals.sessions += 1;
        let interval = self.rate.interval();
        if interval.is_zero() {
            return;
        }
        // A lowered rate allows no burst.
        let burst = if self.rate.is_lowered() { 0 } else { self.sessions.saturating_sub(1) };
        let burst = u32::try_from(burst).unwrap_or(u32::MAX);
        let earliest = now.checked_sub(interval.saturating_mul(burst)).unwrap_or(now);
        let from = self.next_new.map_or(earliest, |due| due.max(earliest));
        self.next_new = Some(from + interval);
    }

    pub(super) fn rate_raised(&mut self, now: Instant) {
        let soonest = now + self.rate.interval();
        self.next_new = self.next_new.map(|due| due.min(soonest));
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.refusals.forget(now);
        self.debts.forget(now);
        self.rate.forget(now);
    }

    /// True if no later request depends on the meter, which can then be removed.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.in_use == 0
            && self.idle == 0
            && self.session_not_before(Class::Interactive, now).is_none()
            && self.rate.is_over(now)
            && self.refusals.is_over(now)
            && self.debts.is_over(now)
    }
}
