//! Turns for hashing passwords. A hash holds the isolate for tens of milliseconds, and every other request of it
//! waits meanwhile, so hashes come one after the other with pauses, and no site takes more than half of the turns.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::clock;
use crate::error::Error;

/// Turns of one site that need not wait for its share.
const BURST: u64 = 10;
/// Of this many turns, one may be the site's: an office signs in, and the others do as well.
const SITE_SHARE: u64 = 2;
/// Milliseconds that a request waits for its site's share, and for its turn among all.
const PATIENCE_WITH_A_SITE: u64 = 5_000;
const PATIENCE: u64 = 10_000;

/// Leave to hash one password.
#[derive(Debug)]
pub struct Turn(());

/// Whose turn it is in this isolate.
#[derive(Debug)]
pub struct HashingTurns {
    /// Milliseconds from one turn to the next.
    every: u64,
    taken: Mutex<Taken>,
}

/// Times are milliseconds of the Worker's clock.
#[derive(Debug, Default)]
struct Taken {
    /// When the next turn is.
    next: u64,
    /// When the bucket of each site will have drained; those that have are left out.
    sites: HashMap<String, u64>,
}

impl HashingTurns {
    pub fn new(per_minute: u64) -> Self {
        Self { every: 60_000 / per_minute.max(1), taken: Mutex::default() }
    }

    /// Waits for a turn of this site.
    ///
    /// # Errors
    /// [`Error::throttled`] when the site has too many waiting, [`Error::unavailable`] when all together have.
    pub async fn turn(&self, site: &str) -> Result<Turn, Error> {
        let wait = self.lock().wait_of_site(site, self.every, clock::now_ms());
        pause(wait.ok_or_else(|| Error::throttled(PATIENCE_WITH_A_SITE / 1000))?).await;
        let wait = self.lock().wait(self.every, clock::now_ms());
        pause(wait.ok_or_else(|| Error::unavailable("too many passwords to hash"))?).await;
        Ok(Turn(()))
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pause(milliseconds: u64) {
    if milliseconds > 0 {
        clock::sleep(Duration::from_millis(milliseconds)).await;
    }
}

impl Taken {
    /// Milliseconds until the site has its share, and counts the turn; `None` when that is too long.
    fn wait_of_site(&mut self, site: &str, every: u64, now: u64) -> Option<u64> {
        let interval = every.saturating_mul(SITE_SHARE);
        self.sites.retain(|_, drained| *drained > now);
        let drained = self.sites.get(site).copied().unwrap_or(now).saturating_add(interval);
        let wait = drained.saturating_sub(now.saturating_add(BURST.saturating_mul(interval)));
        if wait > PATIENCE_WITH_A_SITE {
            return None;
        }
        self.sites.insert(site.to_owned(), drained);
        Some(wait)
    }

    /// Milliseconds until the next turn, and takes it; `None` when that is too long.
    fn wait(&mut self, every: u64, now: u64) -> Option<u64> {
        let at = self.next.max(now);
        let wait = at.saturating_sub(now);
        if wait > PATIENCE {
            return None;
        }
        self.next = at.saturating_add(every);
        Some(wait)
    }
}

#[cfg(test)]
impl Turn {
    pub const fn free() -> Self {
        Self(())
    }
}

#[cfg(test)]
mod tests {
    use super::{HashingTurns, Taken};

    const EVERY: u64 = 200;

    #[test]
    fn turns_come_one_after_the_other_and_nobody_waits_for_longer_than_ten_seconds() {
        let mut taken = Taken::default();
        let waits: Vec<_> = (0..60).map(|_| taken.wait(EVERY, 1_000)).collect();
        let expected = (0..60).map(|n| (n <= 50).then_some(n * EVERY));
        assert_eq!(waits, expected.collect::<Vec<_>>());
        assert_eq!(taken.wait(EVERY, 60_000), Some(0), "an idle isolate has a turn at once");
    }

    #[test]
    fn one_site_has_ten_turns_at_once_and_then_every_second_one() {
        let mut taken = Taken::default();
        let waits: Vec<_> = (0..30).map(|_| taken.wait_of_site("a", EVERY, 1_000)).collect();
        let expected = (0..30).map(|n: u64| (n < 22).then(|| n.saturating_sub(9) * 2 * EVERY));
        assert_eq!(waits, expected.collect::<Vec<_>>());
        assert_eq!(taken.wait_of_site("b", EVERY, 1_000), Some(0));
        assert_eq!(taken.wait_of_site("a", EVERY, 60_000), Some(0));
        assert_eq!(taken.sites.len(), 1, "what has drained is forgotten");
    }

    #[test]
    fn a_rate_without_pauses_lets_everything_through() {
        let every = HashingTurns::new(1_000_000_000).every;
        let mut taken = Taken::default();
        assert!((0..1_000).all(|_| taken.wait_of_site("a", every, 1) == Some(0)));
        assert!((0..1_000).all(|_| taken.wait(every, 1) == Some(0)));
    }
}
