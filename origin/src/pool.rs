//! A pool of sessions with mail servers, shared by all probes, with a fair queue before it.
//!
//! For each operator ([`operators`]) at most so many sessions exist at once, those that lie idle
//! included; new ones are opened no faster than a configured rate; and after a refusal of us none at
//! all, for a time that grows ([`breaker`]). A probe that finds no room waits, and domains take turns
//! ([`fair_queue`]), so that a long list for one of them does not hold up the others.
//!
//! What is kept, at most: [`MAX_IDLE`] idle sessions of about 2 KiB each, one waiting entry for each
//! probe in progress, and the breakers of [`MAX_PENALISED`] operators of about 300 bytes each.

mod breaker;
mod fair_queue;
mod operator;
pub mod operators;
mod permit;

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
use operator::{Assigned, Next, Operator, Waiter};
use permit::Queued;
pub use permit::{Acquired, Permit};

/// Idle sessions kept in all.
const MAX_IDLE: usize = 1_024;
/// Idle sessions kept for one route; routes are exempt from the limit on sessions.
const MAX_IDLE_ROUTE: usize = 64;
/// Operators whose refusal is remembered after the last session with them.
const MAX_PENALISED: usize = 10_000;
/// How often idle sessions are looked through: each lives at most this much longer than it may.
const SWEEP: Duration = Duration::from_secs(1);

/// The pool that is kept with one operator.
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

/// Where a session leads, and on whose behalf it is request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Whose limits apply: see [`operators::of`]; for a route its own name.
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
    Assigned(Assigned<S>, Arc<str>),
    Queued(Arc<str>, oneshot::Receiver<Result<Assigned<S>, Refused>>),
}

/// The sessions with all operators. `S` is the session, so that the rules can be tested without one.
pub struct Pool<S> {
    limits: Limits,
    /// How many names we go by; sessions are opened under each in turn.
    identities: usize,
    close: fn(S),
    operators: Mutex<HashMap<Arc<str>, Operator<S>>>,
    idle: AtomicUsize,
    sweeping: Mutex<bool>,
}

impl<S: Send + 'static> Pool<S> {
    /// `close` closes a session that is not needed any more; it must not block.
    pub fn new(limits: Limits, identities: usize, close: fn(S)) -> Arc<Self> {
        Arc::new(Self {
            limits,
            identities: identities.max(1),
            close,
            operators: Mutex::default(),
            idle: AtomicUsize::new(0),
            sweeping: Mutex::new(false),
        })
    }

    /// An idle session with the host, if there is one and no one waits for it.
    pub fn idle(self: &Arc<Self>, request: Request<'_>) -> Option<(S, Permit<S>)> {
        let mut operators = self.lock();
        let held = operators.get_mut(request.operator)?;
        if held.has_waiting() {
            return None;
        }
        let assigned = held.take_idle(request.host, Instant::now())?;
        let operator = held.operator().clone();
        drop(operators);
        self.assigned(assigned, operator, request.host).into_warm()
    }

    /// A session with the host, or leave to open one; waits for its turn.
    ///
    /// # Errors
    /// [`Refused`] while the operator's breaker is open.
    pub async fn session(self: &Arc<Self>, request: Request<'_>) -> Result<Acquired<S>, Refused> {
        let host = request.host;
        let (operator, answer) = match self.enter(request) {
            Entered::Assigned(assigned, operator) => {
                return Ok(self.assigned(assigned, operator, host));
            }
            Entered::Queued(operator, answer) => (operator, answer),
        };
        self.pump(&operator);
        self.sweep_soon();
        let mut queued = Queued { answer, pool: self, operator, host };
        let assigned = queued.wait().await?;
        Ok(self.assigned(assigned, queued.operator.clone(), host))
    }

    fn enter(&self, request: Request<'_>) -> Entered<S> {
        let mut evicted = Vec::new();
        let mut operators = self.lock();
        let held = match operators.get_mut(request.operator) {
            Some(held) => held,
            None => {
                let operator: Arc<str> = Arc::from(request.operator);
                let held =
                    Operator::new(operator.clone(), self.limits_of(request), self.identities);
                operators.entry(operator).or_insert(held)
            }
        };
        let operator = held.operator().clone();
        if let Some(assigned) = held.serve_newcomer(request.host, Instant::now(), &mut evicted) {
            drop(operators);
            self.close_all(evicted);
            return Entered::Assigned(assigned, operator);
        }
        let (answer, receiver) = oneshot::channel();
        held.wait(request.domain, Waiter { host: Arc::from(request.host), answer });
        Entered::Queued(operator, receiver)
    }

    const fn limits_of(&self, request: Request<'_>) -> Limits {
        if request.exempt {
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

    fn assigned(
        self: &Arc<Self>,
        assigned: Assigned<S>,
        operator: Arc<str>,
        host: &str,
    ) -> Acquired<S> {
        let (session, identity) = match assigned {
            Assigned::Idle(session, identity) => {
                self.idle.fetch_sub(1, Ordering::Relaxed);
                (Some(session), identity)
            }
            Assigned::New(identity) => (None, identity),
        };
        let permit = Permit::new(Arc::clone(self), operator, Arc::from(host), identity);
        match session {
            Some(session) => Acquired::Idle(session, permit),
            None => Acquired::New(permit),
        }
    }

    /// Serves those who wait for `operator`, as far as there is room.
    fn pump(self: &Arc<Self>, operator: &Arc<str>) {
        let mut evicted = Vec::new();
        let mut operators = self.lock();
        let Some(held) = operators.get_mut(operator) else { return };
        let next = held.serve(Instant::now(), &mut evicted);
        drop(operators);
        self.close_all(evicted);
        if let Next::At(due) = next {
            let (pool, operator) = (Arc::clone(self), operator.clone());
            tokio::spawn(async move {
                sleep_until(due).await;
                if let Some(held) = pool.lock().get_mut(&operator) {
                    held.timer_fired();
                }
                pool.pump(&operator);
            });
        }
    }

    fn close_all(&self, sessions: Vec<S>) {
        self.idle.fetch_sub(sessions.len(), Ordering::Relaxed);
        sessions.into_iter().for_each(self.close);
    }

    /// Takes back what was assigned to somebody who has left.
    fn take_back(self: &Arc<Self>, operator: &Arc<str>, host: &str, assigned: Assigned<S>) {
        // Dropping the permit makes room; a warm session stays for the next.
        match self.assigned(assigned, operator.clone(), host) {
            Acquired::Idle(session, permit) => permit.keep(session),
            Acquired::New(_) => {}
        }
    }

    /// Looks through idle sessions and stale state every second, as long as there is any.
    fn sweep_soon(self: &Arc<Self>) {
        let mut sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *sweeping, true) {
            return;
        }
        drop(sweeping);
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(SWEEP).await;
                let mut sweeping = pool.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
                if pool.sweep() {
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
        let mut operators = self.lock();
        operators.retain(|_, held| {
            held.expire(now, &mut expired);
            !held.is_over(now)
        });
        if operators.len() > MAX_PENALISED {
            // Forgetting a refusal costs one more knock; memory without a bound costs the service.
            operators.retain(|_, held| held.is_in_use());
        }
        let nothing_left = operators.is_empty();
        drop(operators);
        self.close_all(expired);
        nothing_left
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Operator<S>>> {
        // Nothing that can panic runs under the lock.
        self.operators.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
