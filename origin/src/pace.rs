//! How we knock at mail servers: politely, and keeping the door open while we have more to ask.
//!
//! For each operator ([`operator`]) at most so many sessions exist at once, those that lie idle
//! included; new ones are opened no faster than a configured rate; and after a refusal of us none at
//! all, for a time that grows ([`breaker`]). Whoever finds no room waits, and domains take turns
//! ([`turns`]), so that a long list for one of them does not hold up the others.
//!
//! What is kept, at most: [`MAX_IDLE`] idle sessions of about 2 KiB each, one waiting entry for each
//! probe in progress, and the breakers of [`MAX_PENALISED`] operators of about 300 bytes each.

mod breaker;
mod lane;
pub mod operator;
mod slot;
mod turns;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};

pub use breaker::Signal;
use lane::{Granted, Lane, Next, Waiter};
use slot::Queued;
pub use slot::{Grant, Slot};

/// Idle sessions kept in all.
const MAX_IDLE: usize = 1_024;
/// Idle sessions kept for one route; routes are exempt from the limit on sessions.
const MAX_IDLE_ROUTE: usize = 64;
/// Operators whose refusal is remembered after the last session with them.
const MAX_PENALISED: usize = 10_000;
/// How often idle sessions are looked through: each lives at most this much longer than it may.
const SWEEP: Duration = Duration::from_secs(1);

/// The pace that is kept with one operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at once.
    pub sessions: usize,
    /// From one new session to the next, once the first `sessions` are open.
    pub interval: Duration,
    /// How long a session may lie idle.
    pub idle: Duration,
    /// Whether refusals of us are heeded.
    pub heeds_refusals: bool,
}

/// Where a session leads, and on whose behalf it is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Whose limits apply: see [`operator::of`]; for a route its own name.
    pub operator: &'a str,
    /// Name of the mail host.
    pub host: &'a str,
    /// The recipient's domain: domains take turns.
    pub domain: &'a str,
    /// A configured route is trusted to bear whatever it is asked.
    pub exempt: bool,
}

/// No session for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// When it is worth asking again.
    pub after: Duration,
    /// The operator refused us, as opposed to being out of order.
    pub blocked: bool,
}

/// One who wants a session: most find room, the others wait.
enum Entered<S> {
    Granted(Granted<S>, Arc<str>),
    Queued(Arc<str>, oneshot::Receiver<Result<Granted<S>, Refused>>),
}

/// The sessions with all operators. `S` is the session, so that the rules can be tested without one.
pub struct Pace<S> {
    limits: Limits,
    /// How many names we go by; sessions are opened under each in turn.
    identities: usize,
    close: fn(S),
    lanes: Mutex<HashMap<Arc<str>, Lane<S>>>,
    idle: AtomicUsize,
    sweeping: Mutex<bool>,
}

impl<S: Send + 'static> Pace<S> {
    /// `close` says farewell to a session that is not needed any more; it must not block.
    #[must_use]
    pub fn new(limits: Limits, identities: usize, close: fn(S)) -> Arc<Self> {
        Arc::new(Self {
            limits,
            identities: identities.max(1),
            close,
            lanes: Mutex::default(),
            idle: AtomicUsize::new(0),
            sweeping: Mutex::new(false),
        })
    }

    /// An idle session with the host, if there is one and nobody waits for it.
    #[must_use]
    pub fn warm(self: &Arc<Self>, wanted: Wanted<'_>) -> Option<(S, Slot<S>)> {
        let mut lanes = self.lock();
        let lane = lanes.get_mut(wanted.operator)?;
        if lane.has_waiting() {
            return None;
        }
        let granted = lane.take_idle(wanted.host, Instant::now())?;
        let operator = lane.operator().clone();
        drop(lanes);
        self.granted(granted, operator, wanted.host).into_warm()
    }

    /// A session with the host, or leave to open one; waits for its turn.
    ///
    /// # Errors
    /// [`Refused`] while the operator's breaker is open.
    pub async fn session(self: &Arc<Self>, wanted: Wanted<'_>) -> Result<Grant<S>, Refused> {
        let host = wanted.host;
        let (operator, answer) = match self.enter(wanted) {
            Entered::Granted(granted, operator) => return Ok(self.granted(granted, operator, host)),
            Entered::Queued(operator, answer) => (operator, answer),
        };
        self.pump(&operator);
        self.sweep_soon();
        let mut queued = Queued { answer, pace: self, operator, host };
        let granted = queued.wait().await?;
        Ok(self.granted(granted, queued.operator.clone(), host))
    }

    fn enter(&self, wanted: Wanted<'_>) -> Entered<S> {
        let mut evicted = Vec::new();
        let mut lanes = self.lock();
        let lane = match lanes.get_mut(wanted.operator) {
            Some(lane) => lane,
            None => {
                let operator: Arc<str> = Arc::from(wanted.operator);
                let lane = Lane::new(operator.clone(), self.limits_of(wanted), self.identities);
                lanes.entry(operator).or_insert(lane)
            }
        };
        let operator = lane.operator().clone();
        if let Some(granted) = lane.serve_newcomer(wanted.host, Instant::now(), &mut evicted) {
            drop(lanes);
            self.close_all(evicted);
            return Entered::Granted(granted, operator);
        }
        let (answer, receiver) = oneshot::channel();
        lane.wait(wanted.domain, Waiter { host: Arc::from(wanted.host), answer });
        Entered::Queued(operator, receiver)
    }

    const fn limits_of(&self, wanted: Wanted<'_>) -> Limits {
        if wanted.exempt {
            Limits {
                sessions: usize::MAX,
                interval: Duration::ZERO,
                heeds_refusals: false,
                ..self.limits
            }
        } else {
            self.limits
        }
    }

    fn granted(self: &Arc<Self>, granted: Granted<S>, operator: Arc<str>, host: &str) -> Grant<S> {
        let (session, identity) = match granted {
            Granted::Warm(session, identity) => {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                (Some(session), identity)
            }
            Granted::Fresh(identity) => (None, identity),
        };
        let slot = Slot::new(Arc::clone(self), operator, Arc::from(host), identity);
        match session {
            Some(session) => Grant::Warm(session, slot),
            None => Grant::Fresh(slot),
        }
    }

    /// Serves those who wait for `operator`, as far as there is room.
    fn pump(self: &Arc<Self>, operator: &Arc<str>) {
        let mut evicted = Vec::new();
        let mut lanes = self.lock();
        let Some(lane) = lanes.get_mut(operator) else { return };
        let next = lane.serve(Instant::now(), &mut evicted);
        drop(lanes);
        self.close_all(evicted);
        if let Next::At(due) = next {
            let (pace, operator) = (Arc::clone(self), operator.clone());
            tokio::spawn(async move {
                sleep_until(due).await;
                if let Some(lane) = pace.lock().get_mut(&operator) {
                    lane.timer_fired();
                }
                pace.pump(&operator);
            });
        }
    }

    fn close_all(&self, sessions: Vec<S>) {
        self.idle.fetch_sub(sessions.len(), Ordering::Relaxed);
        sessions.into_iter().for_each(self.close);
    }

    /// Takes back what was granted to somebody who has left.
    fn take_back(self: &Arc<Self>, operator: &Arc<str>, host: &str, granted: Granted<S>) {
        // Dropping the slot makes room; a warm session stays for the next.
        match self.granted(granted, operator.clone(), host) {
            Grant::Warm(session, slot) => slot.keep(session),
            Grant::Fresh(_) => {}
        }
    }

    /// Looks through idle sessions and stale state every second, as long as there is any.
    fn sweep_soon(self: &Arc<Self>) {
        let mut sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *sweeping, true) {
            return;
        }
        drop(sweeping);
        let pace = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(SWEEP).await;
                let mut sweeping = pace.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
                if pace.sweep() {
                    *sweeping = false;
                    return;
                }
            }
        });
    }

    /// Closes what has been idle too long and forgets what is over; true when nothing is left.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut lanes = self.lock();
        lanes.retain(|_, lane| {
            lane.expire(now, &mut expired);
            !lane.is_over(now)
        });
        if lanes.len() > MAX_PENALISED {
            // Forgetting a refusal costs one more knock; memory without a bound costs the service.
            lanes.retain(|_, lane| lane.is_in_use());
        }
        let nothing_left = lanes.is_empty();
        drop(lanes);
        self.close_all(expired);
        nothing_left
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Lane<S>>> {
        // Nothing that can panic runs under the lock.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
