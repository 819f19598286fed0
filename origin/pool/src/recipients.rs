//! Recipients a minute at one operator or machine.

use std::time::Duration;

use tokio::time::Instant;

/// The burst is a minute's recipients divided by this number.
const BURST_DIVISOR: u32 = 6;

/// Limit of recipients a minute, as a token bucket.
pub(super) struct Recipients {
    interval: Duration,
    burst: Duration,
    /// Time at which the bucket is full again.
    due: Option<Instant>,
}

impl Recipients {
    pub(super) fn new(per_minute: usize) -> Self {
        let per_minute = u32::try_from(per_minute).unwrap_or(u32::MAX).max(1);
        let interval = Duration::from_secs(60) / per_minute;
        let burst = interval.saturating_mul((per_minute / BURST_DIVISOR).max(1));
        Self { interval, burst, due: None }
    }

    /// The time at which the bucket is full again stays the same.
    pub(super) fn set_rate(&mut self, per_minute: usize) {
        *self = Self { due: self.due, ..Self::new(per_minute) };
    }

    /// `None` if the next recipient may come now.
    pub(super) fn not_before(&self, now: Instant) -> Option<Instant> {
        let earliest = self.due?.checked_sub(self.burst)?;
        (earliest > now).then_some(earliest)
    }

    pub(super) fn count(&mut self, now: Instant) {
        let from = self.due.map_or(now, |due| due.max(now));
        self.due = Some(from + self.interval);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Recipients;

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
}
