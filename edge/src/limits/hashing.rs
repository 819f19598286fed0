//! Permissions to hash passwords. A hash blocks the isolate for tens of milliseconds, so they run one at a time with
//! pauses, and one site gets at most half of them.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::pace::{Pace, pause};
use crate::{cf::clock, credentials::password::Turn, error::Error};

/// Number of hashes that one site may use in a burst, before it is limited to its share.
const SITE_BURST_HASHES: u64 = 10;
/// Divisor of the hashes: a single site gets at most half of them, so that an office doesn't keep
/// others from signing in.
const SITE_DIVISOR: u64 = 2;
/// Longest expected wait of a request in the common queue, in milliseconds.
const PATIENCE_MS: u64 = 10_000;

#[derive(Debug)]
pub struct HashingTurns {
    /// Milliseconds between two hashes.
    every: u64,
    /// Time of the next hash, in milliseconds of the Worker's clock.
    next: Mutex<u64>,
    permitted_hashes: AtomicU64,
    sites: Pace,
}

impl HashingTurns {
    pub fn new(per_minute: u64) -> Self {
        let every = 60_000 / per_minute.max(1);
        let sites = Pace::new(every.saturating_mul(SITE_DIVISOR), SITE_BURST_HASHES);
        Self { every, next: Mutex::default(), permitted_hashes: AtomicU64::new(0), sites }
    }

    /// Fails when too many requests of the site, or in total, are waiting.
    pub async fn turn(&self, site: &str) -> Result<Turn, Error> {
        self.sites.turn(site).await?;
        let refused = || Error::unavailable("too many passwords to hash");
        let started_at = clock::now_ms();
        let mut wait = self.wait(started_at).ok_or_else(refused)?;
        while wait > 0 {
            let before = self.permitted_hashes.load(Ordering::Relaxed);
            pause(wait).await;
            let waited = clock::now_ms().saturating_sub(started_at);
            wait = self.wait_on(before, waited).ok_or_else(refused)?;
        }
        self.permitted_hashes.fetch_add(1, Ordering::Relaxed);
        Ok(Turn::grant())
    }

    fn wait(&self, now: u64) -> Option<u64> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let at = now.max(*next);
        let wait = at.saturating_sub(now);
        if wait > PATIENCE_MS {
            return None;
        }
        *next = at.saturating_add(self.every);
        Some(wait)
    }

    /// On a slow machine a hash takes longer than the interval, and all waiting requests would wake together: while
    /// others are permitted, each pauses once more.
    fn wait_on(&self, permitted_before: u64, waited_ms: u64) -> Option<u64> {
        if permitted_before == self.permitted_hashes.load(Ordering::Relaxed) {
            return Some(0);
        }
        (waited_ms <= 2 * PATIENCE_MS).then_some(self.every / 2)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::HashingTurns;

    #[test]
    fn turns_come_one_after_the_other_and_nobody_waits_for_longer_than_ten_seconds() {
        let turns = HashingTurns::new(300);
        let waits: Vec<_> = (0..60).map(|_| turns.wait(1_000)).collect();
        let expected = (0..60).map(|n| (n <= 50).then_some(n * 200));
        assert_eq!(waits, expected.collect::<Vec<_>>());
        assert_eq!(turns.wait(60_000), Some(0), "an idle isolate has a turn at once");
    }

    #[test]
    fn while_others_are_permitted_a_request_pauses_again_for_at_most_twenty_seconds() {
        let turns = HashingTurns::new(300);
        assert_eq!(turns.wait_on(0, 20_001), Some(0), "it is alone");
        turns.permitted_hashes.fetch_add(1, Ordering::Relaxed);
        assert_eq!(turns.wait_on(0, 200), Some(100));
        assert_eq!(turns.wait_on(0, 20_000), Some(100));
        assert_eq!(turns.wait_on(0, 20_001), None);
        assert_eq!(turns.wait_on(1, 20_001), Some(0), "nobody else was permitted");
    }

    #[test]
    fn a_rate_without_pauses_lets_everything_through() {
        let turns = HashingTurns::new(1_000_000_000);
        assert!((0..1_000).all(|_| turns.wait(1) == Some(0)));
    }
}
