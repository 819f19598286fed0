//! Identical checks at the same time: one of them asks an origin, the others wait for its verdict.
//!
//! A future that one request started must not be awaited by another, so what they share is plain data,
//! and those who wait look at it with timers of their own. The one who asks may be gone without a word
//! (a client that leaves ends its request between two polls, and nothing is dropped): it says that it is
//! alive four times a second, and who has not heard from it for a second asks instead.
//!
//! This holds within an isolate. Checks that meet in different isolates or data centres are joined by
//! the origin, where all checks of a domain arrive.

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rcpt_shared::Verdict;

use super::clock;
use crate::error::Error;

/// Milliseconds between two looks: what waiting for another's verdict adds to it, at most.
const LOOK_MS: u64 = 25;
/// Milliseconds between two signs of life.
const SIGN_MS: u64 = 250;
/// Three signs missed and a fourth late.
const LOST_MS: u64 = 1_000;

/// The probes in flight, by the cache key of their address.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<HashMap<String, Asking>>);

#[derive(Debug)]
struct Asking {
    /// Milliseconds of the Worker's clock.
    alive_at: u64,
    /// How many wait for the verdict.
    waiting: usize,
    verdict: Option<Verdict>,
}

enum Turn {
    /// Nobody asks: this one does now.
    Asks,
    Waits,
    Told(Verdict),
}

impl InFlight {
    /// The verdict of `ask`, or of an identical check that was there first. A failure is not shared: the
    /// next in the queue asks for itself, until its own patience ends.
    ///
    /// # Errors
    /// Those of `ask`, and [`Error::upstream`] when the patience has ended.
    pub async fn join(
        &self,
        key: &str,
        patience_ms: u64,
        ask: impl Future<Output = Result<Verdict, Error>>,
    ) -> Result<Verdict, Error> {
        let mut now = clock::now_ms();
        let give_up_at = now.saturating_add(patience_ms);
        let mut is_counted = false;
        loop {
            match self.turn(key, now, is_counted) {
                Turn::Asks => {
                    let verdict = self.alive(key, ask).await;
                    self.tell(key, verdict.as_ref().ok());
                    return verdict;
                }
                Turn::Told(verdict) => return Ok(verdict),
                Turn::Waits if now >= give_up_at => {
                    return Err(Error::upstream("waited for an identical check"));
                }
                Turn::Waits => is_counted = true,
            }
            clock::sleep(Duration::from_millis(LOOK_MS)).await;
            now = clock::now_ms();
        }
    }

    fn turn(&self, key: &str, now: u64, is_counted: bool) -> Turn {
        let mut all = self.lock();
        let is_live = |asking: &Asking| now < asking.alive_at.saturating_add(LOST_MS);
        let Some(asking) = all.get_mut(key).filter(|asking| is_live(asking)) else {
            // The others go on waiting, for this one now.
            let waiting = all.get(key).map_or(0, |asking| asking.waiting);
            let waiting = waiting.saturating_sub(usize::from(is_counted));
            // What was left behind goes here, so that the map holds no more than is in flight.
            all.retain(|_, asking| is_live(asking));
            all.insert(key.to_owned(), Asking { alive_at: now, waiting, verdict: None });
            return Turn::Asks;
        };
        let Some(verdict) = asking.verdict.clone() else {
            asking.waiting += usize::from(!is_counted);
            return Turn::Waits;
        };
        asking.waiting = asking.waiting.saturating_sub(usize::from(is_counted));
        if asking.waiting == 0 {
            all.remove(key);
        }
        Turn::Told(verdict)
    }

    /// Drives `ask`, with signs of life.
    async fn alive<T>(&self, key: &str, ask: impl Future<Output = T>) -> T {
        let mut ask = pin!(ask);
        loop {
            let sign = Duration::from_millis(SIGN_MS);
            if let Some(answer) = clock::within(sign, ask.as_mut()).await {
                return answer;
            }
            if let Some(asking) = self.lock().get_mut(key) {
                asking.alive_at = clock::now_ms();
            }
        }
    }

    /// Leaves the verdict to those who wait. A failure, theirs or ours, is nothing to leave but the turn.
    fn tell(&self, key: &str, verdict: Option<&Verdict>) {
        let mut all = self.lock();
        let shared = verdict.filter(|verdict| verdict.status.counts());
        match all.get_mut(key).filter(|asking| asking.waiting > 0) {
            Some(asking) => {
                asking.alive_at = if shared.is_some() { clock::now_ms() } else { 0 };
                asking.verdict = shared.cloned();
            }
            None => drop(all.remove(key)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Asking>> {
        // Held between two awaits only, in an isolate of one thread: never contended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
