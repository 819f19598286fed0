//! What we have with one operator: sessions in use and idle, those who wait, and its breakers.

use std::{sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{Limits, MAX_IDLE_ROUTE, Refused, Signal, breaker::Breaker, fair_queue::FairQueue};

/// What one who waited gets.
pub(super) enum Assigned<S> {
    /// An open session, and the identity it was opened under.
    Idle(S, usize),
    /// Leave to open one under this identity.
    New(usize),
}

/// One who waits for a session with a host.
pub(super) struct Waiter<S> {
    pub host: Arc<str>,
    pub answer: oneshot::Sender<Result<Assigned<S>, Refused>>,
}

/// Whether there is room for one more.
enum Room<S> {
    Assigned(Assigned<S>),
    /// As many are in use as may be.
    Full,
    /// The next may not be opened before.
    NotBefore(Instant),
    /// The operator does not want us.
    Refused,
}

/// When those who still wait can be served.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// When a session comes back, or never: none wait.
    OnRelease,
    At(Instant),
}

struct Idle<S> {
    host: Arc<str>,
    identity: usize,
    since: Instant,
    session: S,
}

/// What we have with one operator.
pub(super) struct Operator<S> {
    operator: Arc<str>,
    limits: Limits,
    /// Sessions in use, and those being opened.
    in_use: usize,
    /// The last to come back is last, and the first to be used again.
    idle: Vec<Idle<S>>,
    waiting: FairQueue<Waiter<S>>,
    /// One for each identity: it is an address that is refused.
    breakers: Vec<Breaker>,
    /// The identity after the last one used.
    turn: usize,
    /// When the next new session is due (a token bucket that holds as many as there may be sessions).
    next_new: Option<Instant>,
    /// A timer runs for those who wait.
    timer: bool,
}

impl<S> Operator<S> {
    pub(super) fn new(operator: Arc<str>, limits: Limits, identities: usize) -> Self {
        Self {
            operator,
            limits,
            in_use: 0,
            idle: Vec::new(),
            waiting: FairQueue::default(),
            breakers: vec![Breaker::default(); identities],
            turn: 0,
            next_new: None,
            timer: false,
        }
    }

    pub(super) const fn operator(&self) -> &Arc<str> {
        &self.operator
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn wait(&mut self, domain: &str, waiter: Waiter<S>) {
        self.waiting.push(domain, waiter);
    }

    pub(super) fn timer_fired(&mut self) {
        self.timer = false;
    }

    /// The session with `host` that came back last, and counts it as in use.
    pub(super) fn take_idle(&mut self, host: &str, now: Instant) -> Option<Assigned<S>> {
        let fits = |idle: &Idle<S>| {
            *idle.host == *host && now.saturating_duration_since(idle.since) < self.limits.idle
        };
        let position = self.idle.iter().rposition(fits)?;
        let idle = self.idle.remove(position);
        self.in_use += 1;
        Some(Assigned::Idle(idle.session, idle.identity))
    }

    /// What one who has just come gets, if none wait and there is room. Idle sessions that had to
    /// make room are left in `evicted`.
    pub(super) fn serve_newcomer(
        &mut self,
        host: &str,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> Option<Assigned<S>> {
        if self.has_waiting() {
            return None;
        }
        match self.room(host, now, evicted) {
            Room::Assigned(assigned) => Some(assigned),
            Room::Full | Room::NotBefore(_) | Room::Refused => None,
        }
    }

    /// Serves those who wait, in their order, as far as there is room. Idle sessions that had to make
    /// room are left in `evicted`.
    pub(super) fn serve(&mut self, now: Instant, evicted: &mut Vec<S>) -> Next {
        self.waiting.retain(|waiter| !waiter.answer.is_closed());
        while let Some(head) = self.waiting.head() {
            let host = head.host.clone();
            match self.room(&host, now, evicted) {
                Room::Assigned(assigned) => self.grant_head(assigned),
                Room::Full => break,
                Room::Refused => self.refuse_all(now),
                Room::NotBefore(due) => {
                    self.serve_from_idle(now);
                    if self.waiting.is_empty() || std::mem::replace(&mut self.timer, true) {
                        break;
                    }
                    return Next::At(due);
                }
            }
        }
        Next::OnRelease
    }

    /// A session with `host`, or leave to open one, counted as in use.
    fn room(&mut self, host: &str, now: Instant, evicted: &mut Vec<S>) -> Room<S> {
        if let Some(assigned) = self.take_idle(host, now) {
            return Room::Assigned(assigned);
        }
        let Some(identity) = self.next_identity(now) else { return Room::Refused };
        let allowed = self.allowed(identity);
        if self.in_use >= allowed {
            return Room::Full;
        }
        if let Some(due) = self.next_new.filter(|due| *due > now) {
            return Room::NotBefore(due);
        }
        // One that lies idle gives way.
        while self.in_use + self.idle.len() >= allowed {
            evicted.push(self.idle.remove(0).session);
        }
        self.turn = identity + 1;
        self.in_use += 1;
        self.count_new(identity, now);
        Room::Assigned(Assigned::New(identity))
    }

    /// While no session may be opened, one that exists may serve somebody further back.
    fn serve_from_idle(&mut self, now: Instant) {
        // Not those whose time is over: they serve no one, and a waiter taken for one would be lost.
        let fresh = |idle: &&Idle<S>| now.saturating_duration_since(idle.since) < self.limits.idle;
        let hosts: Vec<_> = self.idle.iter().filter(fresh).map(|idle| idle.host.clone()).collect();
        for host in hosts {
            if let Some(waiter) = self.waiting.take(|waiter| waiter.host == host)
                && let Some(assigned) = self.take_idle(&host, now)
            {
                self.acquired(waiter, assigned);
            }
        }
    }

    fn grant_head(&mut self, assigned: Assigned<S>) {
        match self.waiting.pop() {
            Some(waiter) => self.acquired(waiter, assigned),
            None => self.take_back(assigned),
        }
    }

    fn acquired(&mut self, waiter: Waiter<S>, assigned: Assigned<S>) {
        let host = waiter.host;
        // One who left after `retain` looked is passed over.
        if let Err(Ok(assigned)) = waiter.answer.send(Ok(assigned)) {
            if let Assigned::Idle(session, identity) = assigned {
                self.idle.push(Idle { host, identity, since: Instant::now(), session });
            }
            self.in_use -= 1;
        }
    }

    fn take_back(&mut self, assigned: Assigned<S>) {
        // Unreachable as `serve` is written; the count must be right whatever it becomes.
        self.in_use -= 1;
        drop(assigned);
    }

    fn refuse_all(&mut self, now: Instant) {
        let soonest = self
            .breakers
            .iter()
            .filter_map(|breaker| Some((breaker.left(now)?, breaker.blocked())))
            .min();
        let (after, blocked) = soonest.unwrap_or((Duration::ZERO, false));
        while let Some(waiter) = self.waiting.pop() {
            // Err: it has left.
            let _ = waiter.answer.send(Err(Refused { after, blocked }));
        }
    }

    /// The next identity that is not refused.
    fn next_identity(&self, now: Instant) -> Option<usize> {
        let count = self.breakers.len();
        (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|at| self.breakers.get(*at).is_some_and(|breaker| breaker.left(now).is_none()))
    }

    /// Sessions at once while the next is opened under `identity`.
    fn allowed(&self, identity: usize) -> usize {
        let wary = self.breakers.get(identity).is_some_and(Breaker::is_wary);
        if wary { 1 } else { self.limits.sessions }
    }

    fn count_new(&mut self, identity: usize, now: Instant) {
        if self.limits.interval.is_zero() {
            return;
        }
        let slowdown = self.breakers.get(identity).map_or(1, Breaker::slowdown);
        let burst = u32::try_from(self.limits.sessions.saturating_sub(1)).unwrap_or(u32::MAX);
        let earliest = now.checked_sub(self.limits.interval.saturating_mul(burst)).unwrap_or(now);
        let from = self.next_new.map_or(earliest, |due| due.max(earliest));
        self.next_new = Some(from + self.limits.interval * slowdown);
    }

    /// A session came back: `session` is one that can serve again. What is closed instead is returned.
    pub(super) fn release(
        &mut self,
        host: &Arc<str>,
        identity: usize,
        session: Option<S>,
        now: Instant,
    ) -> Option<S> {
        self.in_use = self.in_use.saturating_sub(1);
        let session = session?;
        let refused = self.breakers.get(identity).is_some_and(|at| at.left(now).is_some());
        if refused || self.idle.len() >= MAX_IDLE_ROUTE {
            return Some(session);
        }
        self.idle.push(Idle { host: host.clone(), identity, since: now, session });
        None
    }

    /// Takes note of how we were received; what is to be closed for it is left in `closed`.
    pub(super) fn note(&mut self, identity: usize, signal: Signal, closed: &mut Vec<S>) {
        let now = Instant::now();
        if !self.limits.heeds_refusals {
            return;
        }
        let opened = self.breakers.get_mut(identity).is_some_and(|at| at.note(signal, now));
        if opened {
            closed.extend(
                self.idle.extract_if(.., |idle| idle.identity == identity).map(|idle| idle.session),
            );
        }
    }

    pub(super) fn expire(&mut self, now: Instant, expired: &mut Vec<S>) {
        let over =
            |idle: &mut Idle<S>| now.saturating_duration_since(idle.since) >= self.limits.idle;
        expired.extend(self.idle.extract_if(.., over).map(|idle| idle.session));
        self.waiting.retain(|waiter| !waiter.answer.is_closed());
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.in_use > 0 || !self.idle.is_empty() || !self.waiting.is_empty()
    }

    /// Nothing here is worth remembering.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        !self.is_in_use()
            && self.next_new.is_none_or(|due| due <= now)
            && self.breakers.iter().all(|breaker| breaker.is_over(now))
    }
}
