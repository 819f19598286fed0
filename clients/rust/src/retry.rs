//! Retry policy: when a call is retried, after which pause, and when it fails.

use std::time::{Duration, Instant};

/// Pause before the first retry if the service doesn't name one; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause, without jitter, if the service doesn't name one.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Time limit of an attempt: the service responds to a check within 12 seconds, even if only with
/// an error.
const ATTEMPT: Duration = Duration::from_secs(15);

/// Shortest time of an attempt: a shorter one would end the call with "no answer" instead of the
/// service's last response. A call of under 4 s uses a quarter of its time.
const RESERVE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct Wait {
    pub failures: u32,
    pub pause: Duration,
    pub why: String,
}

#[derive(Debug)]
pub(crate) struct Attempts {
    end: Instant,
    reserve: Duration,
    failures: u32,
}

impl Attempts {
    pub(crate) fn new(timeout: Duration, now: Instant) -> Self {
        // A time limit beyond the clock's range becomes a year.
        let end = now.checked_add(timeout).unwrap_or(now + Duration::from_secs(31_536_000));
        Self { end, reserve: RESERVE.min(timeout / 4), failures: 0 }
    }

    /// Time limit of the next attempt: never zero, which would mean no limit.
    pub(crate) fn next(&self, now: Instant) -> Duration {
        self.end.saturating_duration_since(now).clamp(Duration::from_millis(1), ATTEMPT)
    }

    /// The service's pause, or a doubled one. `jitter`, in 0..1, adds up to half of the pause, so that many clients
    /// don't return at once. `None` if too little of the call's time would be left.
    pub(crate) fn pause(
        &mut self,
        requested_pause: Option<Duration>,
        jitter: f64,
        now: Instant,
    ) -> Option<Wait> {
        let doubled = FIRST_PAUSE.saturating_mul(1 << self.failures.min(10)).min(PAUSE_MAX);
        let pause = requested_pause
            .map_or(doubled, |requested_pause| requested_pause.max(FIRST_PAUSE))
            .mul_f64(1.0 + jitter / 2.0);
        if pause + self.reserve > self.end.saturating_duration_since(now) {
            return None;
        }
        self.failures += 1;
        Some(Wait { failures: self.failures, pause, why: String::new() })
    }
}

#[expect(clippy::disallowed_methods, reason = "the client runs natively")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::{iter, time::Duration};

    use super::{Attempts, now as clock};

    #[test]
    fn pauses_double_up_to_fifteen_seconds_and_end_with_the_call() {
        let mut now = clock();
        let mut attempts = Attempts::new(Duration::from_secs(60), now);
        let pauses = iter::from_fn(|| {
            let wait = attempts.pause(None, 0.0, now)?;
            now += wait.pause;
            Some(wait.pause.as_secs_f64())
        });
        assert_eq!(pauses.collect::<Vec<_>>(), [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]);
    }

    #[test]
    fn the_time_of_attempts_is_the_calls_time_too() {
        let start = clock();
        let mut attempts = Attempts::new(Duration::from_secs(20), start);
        assert_eq!(attempts.next(start), Duration::from_secs(15));
        let late = start + Duration::from_secs(16);
        assert_eq!(attempts.next(late), Duration::from_secs(4));
        assert!(attempts.pause(Some(Duration::from_millis(3_001)), 0.0, late).is_none());
        assert!(attempts.pause(Some(Duration::from_secs(3)), 0.0, late).is_some());
        assert_eq!(attempts.next(start + Duration::from_secs(99)), Duration::from_millis(1));
    }

    #[test]
    fn what_the_service_asks_for_is_waited_and_never_less() {
        let now = clock();
        let mut attempts = Attempts::new(Duration::from_secs(60), now);
        let retry_after = Some(Duration::from_secs(10));
        assert_eq!(attempts.pause(retry_after, 0.0, now).unwrap().pause, Duration::from_secs(10));
        assert_eq!(attempts.pause(retry_after, 1.0, now).unwrap().pause, Duration::from_secs(15));
        let midnight = Some(Duration::from_secs(60));
        assert!(attempts.pause(midnight, 0.0, now).is_none(), "a minute is left");
        assert!(Attempts::new(Duration::MAX, now).pause(midnight, 0.0, now).is_some());
    }
}
