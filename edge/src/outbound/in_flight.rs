//! Identical checks at the same time: one of them asks an origin, the others wait for its verdict.
//!
//! A future that one request started must not be awaited by another, so what they share is plain data,
//! and those who wait look at it with timers of their own. Each of them goes on when its client leaves
//! (`Deferred::outliving`), so the one that asks always comes to an end within the budget.
//!
//! This holds within an isolate. Checks that meet in different isolates or data centres are joined by
//! the origin, where all checks of a domain arrive.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rcpt_shared::Verdict;

use crate::{cf::clock, error::Error};

/// Milliseconds between two looks: what waiting for another's verdict adds to it, at most.
const LOOK_MS: u64 = 25;

/// The probes in flight, by the cache key of their address.
#[derive(Debug)]
pub struct InFlight {
    all: Mutex<HashMap<String, Asking>>,
    /// Milliseconds that a check may take. An entry older than that belongs to a check that was cut off.
    budget_ms: u64,
}

#[derive(Debug)]
struct Asking {
    /// Milliseconds of the Worker's clock.
    since: u64,
    /// How many wait for the verdict.
    waiting: usize,
    verdict: Option<Verdict>,
}

enum InFlightSlot {
    /// No other check asks: this one does now.
    Asks,
    Waits,
    Told(Verdict),
}

impl InFlight {
    pub fn new(budget_ms: u64) -> Self {
        Self { all: Mutex::default(), budget_ms }
    }

    /// The verdict of `ask`, or of an identical check that was there first. `ask` is told by when, in
    /// milliseconds of the Worker's clock, it has to end. A failure is not shared: the next in the queue
    /// asks for itself, in the time that it has left.
    ///
    /// # Errors
    /// Those of `ask`, and [`Error::upstream`] when the time is over.
    pub async fn join(
        &self,
        key: &str,
        ask: impl AsyncFnOnce(u64) -> Result<Verdict, Error>,
    ) -> Result<Verdict, Error> {
        let mut now = clock::now_ms();
        let deadline = now.saturating_add(self.budget_ms);
        let mut is_counted = false;
        loop {
            match self.turn(key, now, is_counted) {
                InFlightSlot::Asks => {
                    let verdict = ask(deadline).await;
                    self.tell(key, verdict.as_ref().ok());
                    return verdict;
                }
                InFlightSlot::Told(verdict) => return Ok(verdict),
                InFlightSlot::Waits if now >= deadline => {
                    return Err(Error::upstream("waited for an identical check"));
                }
                InFlightSlot::Waits => is_counted = true,
            }
            clock::sleep(Duration::from_millis(LOOK_MS)).await;
            now = clock::now_ms();
        }
    }

    fn turn(&self, key: &str, now: u64, is_counted: bool) -> InFlightSlot {
        let mut all = self.lock();
        let is_live = |asking: &Asking| now < asking.since.saturating_add(self.budget_ms);
        let Some(asking) = all.get_mut(key).filter(|asking| is_live(asking)) else {
            // The others go on waiting, for this one now.
            let waiting = all.get(key).map_or(0, |asking| asking.waiting);
            let waiting = waiting.saturating_sub(usize::from(is_counted));
            // What was left behind goes here, so that the map holds no more than is in flight.
            all.retain(|_, asking| is_live(asking));
            all.insert(key.to_owned(), Asking { since: now, waiting, verdict: None });
            return InFlightSlot::Asks;
        };
        let Some(verdict) = asking.verdict.clone() else {
            asking.waiting += usize::from(!is_counted);
            return InFlightSlot::Waits;
        };
        asking.waiting = asking.waiting.saturating_sub(usize::from(is_counted));
        if asking.waiting == 0 {
            all.remove(key);
        }
        InFlightSlot::Told(verdict)
    }

    /// Leaves the verdict to those who wait. A failure, theirs or ours, is nothing to leave but the turn.
    fn tell(&self, key: &str, verdict: Option<&Verdict>) {
        let mut all = self.lock();
        let shared = verdict.filter(|verdict| verdict.status.counts());
        match all.get_mut(key).filter(|asking| asking.waiting > 0) {
            Some(asking) => {
                asking.since = if shared.is_some() { clock::now_ms() } else { 0 };
                asking.verdict = shared.cloned();
            }
            None => drop(all.remove(key)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Asking>> {
        // Held between two awaits only, in an isolate of one thread: never contended.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
