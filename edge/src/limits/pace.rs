//! Pace of one party's requests in an isolate: a burst passes immediately, and later requests are
//! spread out. A shield counts requests per minute and admits them together; without a pace, all other parties would
//! wait for a burst.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{cf::clock, error::Error};

/// Longest wait of a request, in milliseconds.
const PATIENCE_MS: u64 = 5_000;

/// Leaky buckets, one for each party.
#[derive(Debug)]
pub struct Pace {
    /// Milliseconds between two requests of a party.
    interval: u64,
    /// Requests that pass without waiting.
    burst: u64,
    /// Time at which each party's bucket will have drained, in milliseconds of the Worker's clock; drained buckets are
    /// left out.
    drained: Mutex<HashMap<String, u64>>,
}

impl Pace {
    pub fn new(interval: u64, burst: u64) -> Self {
        Self { interval, burst, drained: Mutex::default() }
    }

    /// Waits until the party's next request may start.
    ///
    /// # Errors
    /// [`Error::throttled`] when too many of the party's requests are waiting.
    pub async fn turn(&self, party: &str) -> Result<(), Error> {
        let wait = self.wait(party, clock::now_ms());
        pause(wait.ok_or_else(|| Error::throttled(PATIENCE_MS / 1000))?).await;
        Ok(())
    }

    /// Counts a request and returns the milliseconds until it may start; `None` if the wait is too
    /// long.
    fn wait(&self, party: &str, now: u64) -> Option<u64> {
        let mut all = self.drained.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, drained| *drained > now);
        let drained = all.get(party).copied().unwrap_or(now).saturating_add(self.interval);
        let free = self.burst.saturating_mul(self.interval);
        let wait = drained.saturating_sub(now.saturating_add(free));
        if wait > PATIENCE_MS {
            return None;
        }
        all.insert(party.to_owned(), drained);
        Some(wait)
    }
}

pub async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        clock::sleep(Duration::from_millis(milliseconds)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn one_party_has_ten_turns_at_once_and_then_one_in_each_interval() {
        let pace = Pace::new(400, 10);
        let waits: Vec<_> = (0..30).map(|_| pace.wait("a", 1_000)).collect();
        let expected = (0..30).map(|n: u64| (n < 22).then(|| n.saturating_sub(9) * 400));
        assert_eq!(waits, expected.collect::<Vec<_>>());
        assert_eq!(pace.wait("b", 1_000), Some(0));
        assert_eq!(pace.wait("a", 60_000), Some(0));
        assert_eq!(pace.drained.lock().unwrap().len(), 1, "what has drained is forgotten");
    }

    #[test]
    fn without_an_interval_everything_passes() {
        let pace = Pace::new(0, 10);
        assert!((0..1_000).all(|_| pace.wait("a", 1) == Some(0)));
    }
}
