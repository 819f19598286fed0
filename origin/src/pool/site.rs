//! The sessions whose limits are shared: those with one operator from one source address, with the
//! machines of one network, or with one route; and those who wait for them.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Cause, Class, Key, Refused, Request,
    fair_queue::FairQueue,
    held::{Held, Room},
    meter::{Limits, Meter},
    operators::OperatorId,
};

/// While both classes wait, every tenth session goes to a batch.
const BATCH_TURN: usize = 10;
const CROWDED: Refused = Refused { after: Duration::from_secs(5), cause: Cause::Crowded };

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum SiteKey {
    /// From one of our source addresses.
    Operator(OperatorId, usize),
    /// A /24 or a /64, by its first address.
    Network(IpAddr),
    Route(Arc<str>),
}

/// What a session counts for: a machine of a network; or, with `None`, the whole site.
pub(super) type MeterKey = Option<IpAddr>;

/// What one who asked gets.
pub(super) enum Assigned<S> {
    Idle(Idle<S>),
    /// Leave to open one.
    New(MeterKey),
}

pub(super) struct Idle<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub address: Option<IpAddr>,
    pub since: Instant,
    pub session: S,
}

/// One who waits for a session with a host.
pub(super) struct Waiter<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub class: Class,
    pub afresh: bool,
    pub answer: oneshot::Sender<Result<Assigned<S>, Refused>>,
}

/// The session that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Want<'a> {
    pub host: &'a str,
    pub identity: usize,
    pub meter: MeterKey,
    pub class: Class,
    /// No idle one.
    pub afresh: bool,
}

impl<'a> Want<'a> {
    pub(super) fn of(request: &Request<'a>, identity: usize, meter: MeterKey) -> Self {
        let Request { host, class, afresh, .. } = *request;
        Self { host, identity, meter, class, afresh }
    }
}

/// A session for one who has waited.
pub(super) struct Granted<S> {
    answer: oneshot::Sender<Result<Assigned<S>, Refused>>,
    assigned: Assigned<S>,
}

impl<S> Granted<S> {
    /// Gives it to the one who waits; what one that has left does not take comes back.
    pub(super) fn hand_over(self) -> Option<Assigned<S>> {
        self.answer.send(Ok(self.assigned)).err()?.ok()
    }
}

impl<S> Waiter<S> {
    pub(super) fn of(
        want: Want<'_>,
        host: Arc<str>,
        answer: oneshot::Sender<Result<Assigned<S>, Refused>>,
    ) -> Self {
        let Want { identity, meter, class, afresh, .. } = want;
        Self { host, identity, meter, class, afresh, answer }
    }

    fn want(&self) -> Want<'_> {
        Want {
            host: &self.host,
            identity: self.identity,
            meter: self.meter,
            class: self.class,
            afresh: self.afresh,
        }
    }
}

pub(super) struct Site<S> {
    held: Held<S>,
    interactive: FairQueue<Waiter<S>>,
    batch: FairQueue<Waiter<S>>,
    granted: usize,
    /// A timer runs for those who wait.
    timer: bool,
}

impl<S> Site<S> {
    pub(super) fn new(limits: Limits, sessions: usize, max_idle: Duration) -> Self {
        let held = Held {
            limits,
            sessions,
            max_idle,
            in_use: 0,
            idle: Vec::new(),
            meters: HashMap::new(),
        };
        Self {
            held,
            interactive: FairQueue::default(),
            batch: FairQueue::default(),
            granted: 0,
            timer: false,
        }
    }

    pub(super) fn meter(&mut self, key: MeterKey) -> &mut Meter {
        self.held.meter(key)
    }

    /// What is counted stays counted.
    pub(super) fn set_limits(&mut self, limits: Limits, sessions: usize) {
        (self.held.limits, self.held.sessions) = (limits, sessions);
        self.held.meters.values_mut().for_each(|meter| meter.set_limits(limits));
    }

    pub(super) fn meters(&self) -> impl Iterator<Item = &Meter> {
        self.held.meters.values()
    }

    pub(super) const fn waiting(&self) -> usize {
        self.interactive.len() + self.batch.len()
    }

    pub(super) const fn has_waiting(&self) -> bool {
        self.waiting() > 0
    }

    /// What one who has just come gets, if none wait and there is room. Idle sessions that had to make
    /// room are left in `evicted`.
    pub(super) fn serve_newcomer(
        &mut self,
        want: Want<'_>,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> Option<Assigned<S>> {
        if self.has_waiting() {
            return None;
        }
        match self.held.room(want, now) {
            Room::Full | Room::NotBefore(_) => None,
            room => self.held.assign(room, want, now, evicted),
        }
    }

    /// An idle session for one who has just come.
    pub(super) fn take_idle(&mut self, want: Want<'_>, now: Instant) -> Option<Idle<S>> {
        if self.has_waiting() {
            return None;
        }
        let room = self.held.room(want, now);
        let assigned = match room {
            Room::Idle(_) => self.held.assign(room, want, now, &mut Vec::new()),
            Room::New | Room::Full | Room::NotBefore(_) => None,
        };
        match assigned? {
            Assigned::Idle(idle) => Some(idle),
            Assigned::New(_) => None,
        }
    }

    /// Queues one. In a full queue the tenant with most waiters gives way.
    pub(super) fn wait(
        &mut self,
        (tenant, domain): (Key, Key),
        waiter: Waiter<S>,
        (most, most_of_tenant): (usize, usize),
    ) {
        let own = self.interactive.of_tenant(tenant) + self.batch.of_tenant(tenant);
        // Err, here and below: it has left.
        if own >= most_of_tenant {
            let _ = waiter.answer.send(Err(CROWDED));
            return;
        }
        if self.waiting() >= most {
            let largest =
                if self.batch.is_empty() { &mut self.interactive } else { &mut self.batch };
            let victim =
                largest.largest_tenant().filter(|other| largest.of_tenant(*other) > own + 1);
            let Some(given_way) = victim.and_then(|tenant| largest.take_last_of(tenant)) else {
                let _ = waiter.answer.send(Err(CROWDED));
                return;
            };
            let _ = given_way.answer.send(Err(CROWDED));
        }
        match waiter.class {
            Class::Interactive => self.interactive.push(tenant, domain, waiter),
            Class::Batch => self.batch.push(tenant, domain, waiter),
        }
    }

    /// Serves those who wait, as far as there is room, and says when a timer is to call again. What is granted is
    /// the caller's to hand over, when what was evicted for it has been closed.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> (Vec<Granted<S>>, Option<Instant>) {
        let stays = |waiter: &Waiter<S>| !waiter.answer.is_closed();
        self.interactive.retain(stays);
        self.batch.retain(stays);
        let (mut granted, mut next) = (Vec::new(), None);
        while let Some((waiter, room)) = self.next_with_room(now, &mut next) {
            self.granted += 1;
            if let Some(assigned) = self.held.assign(room, waiter.want(), now, evicted) {
                granted.push(Granted { answer: waiter.answer, assigned });
            }
        }
        if self.timer || !self.has_waiting() {
            return (granted, None);
        }
        self.timer = next.is_some();
        (granted, next)
    }

    pub(super) fn take_back(&mut self, assigned: Assigned<S>, now: Instant) {
        self.held.take_back(assigned, now);
    }

    fn next_with_room(
        &mut self,
        now: Instant,
        next: &mut Option<Instant>,
    ) -> Option<(Waiter<S>, Room)> {
        if let Some(due) = self.held.closed(now) {
            *next = due;
            return None;
        }
        let held = &mut self.held;
        let mut found = Room::Full;
        let mut fits = |waiter: &Waiter<S>| {
            let room = held.room(waiter.want(), now);
            if let Room::NotBefore(due) = room {
                *next = Some(next.map_or(due, |next| next.min(due)));
            }
            found = room;
            matches!(room, Room::Idle(_) | Room::New)
        };
        let batch_turn = self.granted % BATCH_TURN == BATCH_TURN - 1;
        let waiter = if batch_turn {
            self.batch.take(&mut fits).or_else(|| self.interactive.take(&mut fits))
        } else {
            self.interactive.take(&mut fits).or_else(|| self.batch.take(&mut fits))
        };
        waiter.map(|waiter| (waiter, found))
    }

    pub(super) fn timer_fired(&mut self) {
        self.timer = false;
    }

    /// A session came back: it lies idle, or has been closed.
    pub(super) fn release(&mut self, meter: MeterKey, idle: Option<Idle<S>>) {
        self.held.release(meter, idle);
    }

    /// Whether one more may lie idle.
    pub(super) const fn has_room_for_idle(&self) -> bool {
        self.held.has_room_for_idle()
    }

    /// All idle sessions, for their end.
    pub(super) fn drain(&mut self) -> Vec<(MeterKey, S)> {
        self.held.take_idle(|_| true)
    }

    /// The sessions that have been idle too long; each is in use until it is released.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(MeterKey, S)> {
        let max_idle = self.held.max_idle;
        self.interactive.retain(|waiter| !waiter.answer.is_closed());
        self.batch.retain(|waiter| !waiter.answer.is_closed());
        self.held.take_idle(|idle| now.saturating_duration_since(idle.since) >= max_idle)
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.held.in_use > 0 || !self.held.idle.is_empty() || self.has_waiting()
    }

    /// Forgets machines with nothing to remember; true when that is all of them.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        if self.has_waiting() {
            return false;
        }
        self.held.meters.retain(|_, meter| !meter.is_over(now));
        !self.is_in_use() && self.held.meters.is_empty()
    }
}
