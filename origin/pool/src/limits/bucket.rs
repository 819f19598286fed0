//! A rate as a bucket: some may come at once, and further ones at an interval.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bucket {
    next: Option<Instant>,
}

impl Bucket {
    pub(crate) fn not_before(&self, now: Instant) -> Option<Instant> {
        self.next.filter(|due| *due > now)
    }

    /// After a pause, one more than `burst` may come at once.
    pub(crate) fn take(&mut self, interval: Duration, burst: usize, now: Instant) {
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
pub(crate) fn per_minute(number: usize) -> (Duration, usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX).max(1);
    (Duration::from_secs(60) / number, (number / 6).max(1) as usize)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Bucket, per_minute};

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
