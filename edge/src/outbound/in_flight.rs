//! Concurrent identical checks: one of them sends a request to an origin, and the others wait for
//! its verdict.
//!
//! A future started by one request mustn't be awaited by another. The shared state is therefore plain data, which
//! waiting requests poll with their own timers. Each check continues when its client disconnects
//! (`Deferred::outliving`), so the active request always ends within the budget.
//!
//! Checks are joined within an isolate. An origin joins those of one account in different isolates.

use std::time::Duration;

use rcpt_shared::Verdict;

use crate::{cf::clock, error::Error, isolate};

/// Milliseconds between two polls: the greatest delay added by waiting for another check's verdict.
const LOOK_MS: u64 = 25;

/// More checks than an isolate's memory allows at the same time.
const CHECKS_MAX: usize = 10_000;

/// The probes in flight, by a key that identical checks share.
#[derive(Debug)]
pub struct InFlight {
    /// An entry expires a check's budget after its start or, once the verdict has arrived, after its arrival.
    all: isolate::Map<String, Asking>,
    budget_ms: u64,
}

#[derive(Debug, Default)]
struct Asking {
    waiting: usize,
    verdict: Option<Verdict>,
    /// The request that asked has failed: the next one asks.
    has_failed: bool,
}

enum InFlightSlot {
    /// No other check is active, so this check sends the request.
    Asks,
    Waits,
    Told(Verdict),
}

impl InFlight {
    pub fn new(budget_ms: u64) -> Self {
        Self { all: isolate::Map::new(CHECKS_MAX), budget_ms }
    }

    /// The verdict of `ask`, or of an identical check that started earlier. `ask` receives its deadline in milliseconds
    /// of the Worker's clock. Failures aren't shared: the next waiting request tries again, within its remaining time.
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
        self.all.update(key.to_owned(), now, |slot| {
            // The other requests keep waiting, now for this request.
            let waiting = match slot {
                Some((asking, _)) if !asking.has_failed => {
                    let Some(verdict) = asking.verdict.clone() else {
                        asking.waiting += usize::from(!is_counted);
                        return InFlightSlot::Waits;
                    };
                    asking.waiting = asking.waiting.saturating_sub(usize::from(is_counted));
                    if asking.waiting == 0 {
                        *slot = None;
                    }
                    return InFlightSlot::Told(verdict);
                }
                Some((asking, _)) => asking.waiting.saturating_sub(usize::from(is_counted)),
                None => 0,
            };
            let asking = Asking { waiting, ..Asking::default() };
            *slot = Some((asking, now.saturating_add(self.budget_ms)));
            InFlightSlot::Asks
        })
    }

    /// After a failure or an uncounted verdict, the next waiting request becomes active.
    fn tell(&self, key: &str, verdict: Option<&Verdict>) {
        let shared = verdict.filter(|verdict| verdict.status.counts());
        let now = clock::now_ms();
        self.all.update(key.to_owned(), now, |slot| {
            let waiting = slot.as_ref().map_or(0, |(asking, _)| asking.waiting);
            let told = Asking { waiting, verdict: shared.cloned(), has_failed: shared.is_none() };
            *slot = (waiting > 0).then_some((told, now.saturating_add(self.budget_ms)));
        });
    }
}
