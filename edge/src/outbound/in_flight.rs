//! Concurrent identical checks: one of them sends a request to an origin, and the others wait for
//! its verdict.
//!
//! A future started by one request mustn't be awaited by another. The shared state is therefore plain data, which
//! waiting requests poll with their own timers. Each check continues when its client disconnects
//! (`Deferred::outliving`), so the active request always ends within the budget.
//!
//! Checks are joined within an isolate. Identical checks in different isolates or data centres are joined
//! by the origin, where all checks of a domain arrive.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rcpt_shared::Verdict;

use crate::{cf::clock, error::Error};

/// Milliseconds between two polls: the greatest delay added by waiting for another check's verdict.
const LOOK_MS: u64 = 25;

/// The probes in flight, by a key that identical checks share.
#[derive(Debug)]
pub struct InFlight {
    all: Mutex<HashMap<String, Asking>>,
    /// Time limit of a check in milliseconds. An older entry is abandoned.
    budget_ms: u64,
}

#[derive(Debug)]
struct Asking {
    /// Start time in milliseconds of the Worker's clock. Once the verdict has arrived, its time of arrival; after a
    /// failure, 0.
    since: u64,
    /// Number of waiting requests.
    waiting: usize,
    verdict: Option<Verdict>,
}

enum InFlightSlot {
    /// No other check is active, so this check sends the request.
    Asks,
    Waits,
    Told(Verdict),
}

impl InFlight {
    pub fn new(budget_ms: u64) -> Self {
        Self { all: Mutex::default(), budget_ms }
    }

    /// Returns the verdict of `ask`, or of an identical check that started earlier. `ask` receives
    /// its deadline in milliseconds of the Worker's clock. Failures aren't shared: the next waiting
    /// request tries again, within its remaining time.
    ///
    /// # Errors
    /// The errors of `ask`, and [`Error::upstream`] when the time has run out.
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
            // The other requests keep waiting, now for this request.
            let waiting = all.get(key).map_or(0, |asking| asking.waiting);
            let waiting = waiting.saturating_sub(usize::from(is_counted));
            // Removes abandoned entries, so that the map holds only checks in flight.
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

    /// Stores the verdict for the waiting requests. After a failure or an uncounted
    /// verdict, the next waiting request becomes active.
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
        // Never contended: an isolate has one thread and holds no lock across an await.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
