//! Pace of one party's requests in an isolate: a burst passes, and later requests are spread out. A shield admits a
//! minute's requests together, and all other parties would wait for them.

use std::time::Duration;

use crate::{cf::clock, error::Error, isolate};

/// Longest wait of a request, in milliseconds.
const PATIENCE_MS: u64 = 5_000;

/// Largest number of parties whose buckets haven't drained.
const PARTIES_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Pace {
    /// Milliseconds between two requests of a party.
    interval: u64,
    /// Requests that pass without waiting.
    burst: u64,
    /// Each party's bucket expires when it has drained, in milliseconds of the Worker's clock.
    buckets: isolate::Map<String, ()>,
}

impl Pace {
    pub fn new(interval: u64, burst: u64) -> Self {
        Self { interval, burst, buckets: isolate::Map::new(PARTIES_MAX) }
    }

    /// Fails when too many of the party's requests are waiting.
    pub async fn turn(&self, party: &str) -> Result<(), Error> {
        let wait = self.wait(party, clock::now_ms());
        pause(wait.ok_or_else(|| Error::throttled(PATIENCE_MS / 1000))?).await;
        Ok(())
    }

    fn wait(&self, party: &str, now: u64) -> Option<u64> {
        self.buckets.update(party.to_owned(), now, |slot| {
            let drained = slot.map_or(now, |((), drained)| drained).saturating_add(self.interval);
            let free = self.burst.saturating_mul(self.interval);
            let wait = drained.saturating_sub(now.saturating_add(free));
            if wait > PATIENCE_MS {
                return None;
            }
            *slot = Some(((), drained));
            Some(wait)
        })
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
    }

    #[test]
    fn without_an_interval_everything_passes() {
        let pace = Pace::new(0, 10);
        assert!((0..1_000).all(|_| pace.wait("a", 1) == Some(0)));
    }
}
