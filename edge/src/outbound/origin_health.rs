//! Tracks which origins respond. A slow origin may be healthy, because a mail server can use up the
//! whole budget. A slow origin therefore gets a request to `/health`; only silence after this request counts as
//! hanging.
//!
//! All requests of an isolate share the results. The results are plain data, because a future started by
//! one request mustn't be awaited by another. If a request ends during its health check, there is
//! no result; after [`LOST_MS`] another request starts a new check.
//!
//! A busy isolate processes responses late. Silence is counted only while the isolate's own timers
//! fire on time.

use crate::isolate::{self, FOREVER};

/// Milliseconds without a response after which an origin gets a health check.
pub const SLOW_MS: u64 = 2_000;
/// Milliseconds of silence at `/health` after which an origin counts as hung.
pub const SILENT_MS: u64 = 1_000;
/// Milliseconds for which a hung origin is tried last.
const SKIPPED_MS: u64 = 30_000;
/// Milliseconds since the last [`OriginHealth::record_check`] after which a health check counts as aborted.
const LOST_MS: u64 = 1_500;

/// The platform lets an invocation wait for six responses: two hanging origins leave two responses, for a third origin
/// and for health checks.
const WAITING_BATCHES_MAX: u32 = 2;

/// More origins than a configuration has.
const ORIGINS_MAX: usize = 1_000;

/// By the origin's URL.
#[derive(Debug)]
pub struct OriginHealth(isolate::Map<String, OriginState>);

impl Default for OriginHealth {
    fn default() -> Self {
        Self(isolate::Map::new(ORIGINS_MAX))
    }
}

/// State of an origin, with times in milliseconds of the Worker's clock; 0 means never.
#[derive(Debug, Default, Clone, Copy)]
struct OriginState {
    answered_at: u64,
    checked_at: u64,
    skipped_until: u64,
    waiting_batches: u32,
}

#[derive(Debug)]
pub struct FirstByteWait<'a> {
    health: &'a OriginHealth,
    origin: &'a str,
}

impl Drop for FirstByteWait<'_> {
    fn drop(&mut self) {
        self.health.learn(self.origin, |state| {
            state.waiting_batches = state.waiting_batches.saturating_sub(1);
        });
    }
}

/// Next step of a request that waits for an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Wait,
    Leave,
    Check,
    Look,
}

impl OriginHealth {
    /// True if the origin was found hung in the last 30 s and hasn't answered since.
    pub fn is_skipped(&self, origin: &str, now: u64) -> bool {
        self.0.get(origin, now).is_some_and(|state| now < state.skipped_until)
    }

    /// The next step with a slow origin. [`Next::Check`] is returned to one request at a time.
    pub fn next(&self, origin: &str, now: u64) -> Next {
        self.learn(origin, |state| {
            if now < state.skipped_until {
                Next::Leave
            } else if state.answered_at > 0 && now < state.answered_at.saturating_add(SLOW_MS) {
                Next::Wait
            } else if state.checked_at > 0 && now < state.checked_at.saturating_add(LOST_MS) {
                Next::Look
            } else {
                state.checked_at = now;
                Next::Check
            }
        })
    }

    /// Lets a batch wait for the first byte of an origin; `None` if the maximum is already waiting.
    pub fn wait_with_batch<'a>(&'a self, origin: &'a str) -> Option<FirstByteWait<'a>> {
        let may_wait = self.learn(origin, |state| {
            let may_wait = state.waiting_batches < WAITING_BATCHES_MAX;
            state.waiting_batches += u32::from(may_wait);
            may_wait
        });
        may_wait.then_some(FirstByteWait { health: self, origin })
    }

    pub fn record_check(&self, origin: &str, now: u64) {
        self.learn(origin, |state| state.checked_at = now);
    }

    pub fn record_response(&self, origin: &str, now: u64) {
        self.learn(origin, |state| {
            let waiting_batches = state.waiting_batches;
            *state = OriginState { answered_at: now, waiting_batches, ..OriginState::default() };
        });
    }

    pub fn record_silence(&self, origin: &str, now: u64) {
        let skipped_until = now.saturating_add(SKIPPED_MS);
        self.learn(origin, |state| {
            let waiting_batches = state.waiting_batches;
            *state = OriginState { skipped_until, waiting_batches, ..OriginState::default() };
        });
    }

    fn learn<R>(&self, origin: &str, learn: impl FnOnce(&mut OriginState) -> R) -> R {
        self.0.update(origin.to_owned(), 0, |slot| {
            let (state, _) = slot.get_or_insert((OriginState::default(), FOREVER));
            learn(state)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{LOST_MS, Next, OriginHealth, SKIPPED_MS, SLOW_MS};

    const ORIGIN: &str = "https://origin.example";
    const NOW: u64 = 1_790_000_000_000;

    #[test]
    fn one_request_checks_and_the_others_look() {
        let health = OriginHealth::default();
        assert_eq!(health.next(ORIGIN, NOW), Next::Check);
        assert_eq!(health.next(ORIGIN, NOW + 1), Next::Look);
        assert_eq!(health.next("https://other.example", NOW), Next::Check);
        health.record_response(ORIGIN, NOW + 2);
        assert_eq!(health.next(ORIGIN, NOW + 3), Next::Wait);
        assert_eq!(health.next(ORIGIN, NOW + 2 + SLOW_MS), Next::Check, "an answer ages");
    }

    #[test]
    fn a_check_whose_request_has_ended_is_done_by_another() {
        let health = OriginHealth::default();
        assert_eq!(health.next(ORIGIN, NOW), Next::Check);
        assert_eq!(health.next(ORIGIN, NOW + LOST_MS - 1), Next::Look);
        assert_eq!(health.next(ORIGIN, NOW + LOST_MS), Next::Check);
        health.record_check(ORIGIN, NOW + LOST_MS + 1_000);
        assert_eq!(health.next(ORIGIN, NOW + 2 * LOST_MS), Next::Look, "it goes on");
    }

    #[test]
    fn two_batches_wait_for_the_first_word_of_an_origin() {
        let health = OriginHealth::default();
        let first = health.wait_with_batch(ORIGIN);
        let second = health.wait_with_batch(ORIGIN);
        assert!(first.is_some() && second.is_some());
        health.record_silence(ORIGIN, NOW);
        assert!(health.wait_with_batch(ORIGIN).is_none());
        assert!(health.wait_with_batch("https://other.example").is_some());
        drop(first);
        assert!(health.wait_with_batch(ORIGIN).is_some());
    }

    #[test]
    fn a_silent_origin_is_left_and_skipped_until_it_answers_or_the_time_is_over() {
        let health = OriginHealth::default();
        health.record_silence(ORIGIN, NOW);
        assert!(health.is_skipped(ORIGIN, NOW + SKIPPED_MS - 1));
        assert_eq!(health.next(ORIGIN, NOW + 1), Next::Leave);
        assert!(!health.is_skipped(ORIGIN, NOW + SKIPPED_MS));
        assert_eq!(health.next(ORIGIN, NOW + SKIPPED_MS), Next::Check);
        health.record_silence(ORIGIN, NOW);
        health.record_response(ORIGIN, NOW + 5);
        assert!(!health.is_skipped(ORIGIN, NOW + 5));
    }
}
