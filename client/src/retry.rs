//! When a call is made again, and after how long.

use std::time::Duration;

/// Before the second attempt, where the service names no time; it doubles with each.
const FIRST: Duration = Duration::from_millis(500);
/// The most that is waited where the service names no time.
const LONGEST: Duration = Duration::from_secs(15);

/// A call waits before it is made again.
#[derive(Debug, Clone)]
pub struct Wait {
    /// How often the call has failed.
    pub failures: u32,
    /// How long it waits.
    pub pause: Duration,
    /// What the last attempt ended with.
    pub why: String,
}

/// What is left of the time that one call may spend waiting.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    failures: u32,
}

impl Patience {
    pub(crate) const fn new(whole: Duration) -> Self {
        Self { left: whole, failures: 0 }
    }

    /// The pause before the next attempt: what the service asks for, or a time that doubles, and up to
    /// half of it again, so that many clients do not come back together. `jitter` is in 0..1. `None` when
    /// that is longer than what is left.
    pub(crate) fn pause(&mut self, asked: Option<Duration>, jitter: f64) -> Option<Wait> {
        let doubled = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        let pause = asked.map_or(doubled, |asked| asked.max(FIRST)).mul_f64(1.0 + jitter / 2.0);
        self.left = self.left.checked_sub(pause)?;
        self.failures += 1;
        Some(Wait { failures: self.failures, pause, why: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use std::{iter, time::Duration};

    use super::Patience;

    #[test]
    fn pauses_double_up_to_fifteen_seconds_and_end_with_the_patience() {
        let mut patience = Patience::new(Duration::from_secs(60));
        let pauses = iter::from_fn(|| patience.pause(None, 0.0));
        let seconds: Vec<_> = pauses.map(|wait| wait.pause.as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]);
    }

    #[test]
    fn what_the_service_asks_for_is_waited_and_never_less() {
        let mut patience = Patience::new(Duration::from_secs(60));
        let asked = Some(Duration::from_secs(10));
        assert_eq!(patience.pause(asked, 0.0).unwrap().pause, Duration::from_secs(10));
        assert_eq!(patience.pause(asked, 1.0).unwrap().pause, Duration::from_secs(15));
        let midnight = Some(Duration::from_secs(36));
        assert!(patience.pause(midnight, 0.0).is_none(), "35 seconds are left");
    }
}
