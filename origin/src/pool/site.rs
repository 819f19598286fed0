//! The sessions whose limits are shared: those with one operator from one source address, with the
//! machines of one network, or with one route; and those who wait for them.

use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Cause, Class, Key, MAX_IDLE_SITE, Refused,
    fair_queue::FairQueue,
    meter::{Limits, Meter},
    operators::OperatorId,
};

/// Of ten sessions that are granted while both classes wait, one is a batch's.
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
    pub answer: oneshot::Sender<Result<Assigned<S>, Refused>>,
}

/// The session that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Want<'a> {
    pub host: &'a str,
    pub identity: usize,
    pub meter: MeterKey,
    pub class: Class,
}

impl<S> Waiter<S> {
    fn want(&self) -> Want<'_> {
        Want { host: &self.host, identity: self.identity, meter: self.meter, class: self.class }
    }
}

/// Whether there is room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// This idle session serves.
    Idle(usize),
    New,
    /// As many are in use as may be.
    Full,
    NotBefore(Instant),
}

pub(super) struct Site<S> {
    held: Held<S>,
    interactive: FairQueue<Waiter<S>>,
    batch: FairQueue<Waiter<S>>,
    granted: usize,
    /// A timer runs for those who wait.
    timer: bool,
}

/// What we have with the site.
struct Held<S> {
    /// For each machine that is new here.
    limits: Limits,
    /// Sessions at once, with all machines.
    sessions: usize,
    max_idle: Duration,
    in_use: usize,
    /// The last to come back is last, and the first to be used again.
    idle: Vec<Idle<S>>,
    meters: HashMap<MeterKey, Meter>,
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

    /// Serves those who wait, as far as there is room, and says when a timer is to call again.
    pub(super) fn serve(&mut self, now: Instant, evicted: &mut Vec<S>) -> Option<Instant> {
        let stays = |waiter: &Waiter<S>| !waiter.answer.is_closed();
        self.interactive.retain(stays);
        self.batch.retain(stays);
        let mut next = None;
        while let Some((waiter, room)) = self.next_with_room(now, &mut next) {
            self.granted += 1;
            let Some(assigned) = self.held.assign(room, waiter.want(), now, evicted) else {
                continue;
            };
            // One that left meanwhile gives back what it was granted.
            if let Err(Ok(assigned)) = waiter.answer.send(Ok(assigned)) {
                self.held.take_back(assigned, now);
            }
        }
        if self.timer || !self.has_waiting() {
            return None;
        }
        self.timer = next.is_some();
        next
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

    /// A session came back: `session` is one that can serve again. What is closed instead is returned.
    pub(super) fn release(&mut self, meter: MeterKey, idle: Option<Idle<S>>) -> Option<S> {
        self.held.release(meter, idle)
    }

    pub(super) fn drain(&mut self, drained: &mut Vec<S>) {
        self.held.remove_idle(|_| true, drained);
    }

    pub(super) fn expire(&mut self, now: Instant, expired: &mut Vec<S>) {
        let max_idle = self.held.max_idle;
        let over = |idle: &Idle<S>| now.saturating_duration_since(idle.since) >= max_idle;
        self.held.remove_idle(over, expired);
        self.interactive.retain(|waiter| !waiter.answer.is_closed());
        self.batch.retain(|waiter| !waiter.answer.is_closed());
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

impl<S> Held<S> {
    fn meter(&mut self, key: MeterKey) -> &mut Meter {
        let limits = self.limits;
        self.meters.entry(key).or_insert_with(|| Meter::new(limits))
    }

    /// There is room for none of those who wait: until when, or until a session comes back. It spares
    /// looking at each of hundreds.
    fn closed(&self, now: Instant) -> Option<Option<Instant>> {
        let mut next: Option<Instant> = None;
        for meter in self.meters.values() {
            match meter.recipient_not_before(now) {
                Some(due) => next = Some(next.map_or(due, |next| next.min(due))),
                None if self.idle.is_empty() && meter.in_use >= meter.sessions => {}
                None => return None,
            }
        }
        Some(next)
    }

    fn room(&mut self, want: Want<'_>, now: Instant) -> Room {
        let max_idle = self.max_idle;
        let fits = |idle: &Idle<S>| {
            *idle.host == *want.host
                && idle.identity == want.identity
                && now.saturating_duration_since(idle.since) < max_idle
        };
        let idle = self.idle.iter().rposition(fits);
        let (in_use, sessions) = (self.in_use, self.sessions);
        let meter = self.meter(want.meter);
        if let Some(due) = meter.recipient_not_before(now) {
            return Room::NotBefore(due);
        }
        if let Some(position) = idle {
            return Room::Idle(position);
        }
        if in_use >= sessions || meter.in_use >= meter.sessions {
            return Room::Full;
        }
        meter.session_not_before(want.class, now).map_or(Room::New, Room::NotBefore)
    }

    fn assign(
        &mut self,
        room: Room,
        want: Want<'_>,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> Option<Assigned<S>> {
        let (assigned, key) = match room {
            Room::Idle(position) => {
                let idle = self.idle.remove(position);
                let key = idle.meter;
                self.meter(key).idle -= 1;
                (Assigned::Idle(idle), key)
            }
            Room::New => {
                self.make_room(want.meter, evicted);
                self.meter(want.meter).count_session(now);
                (Assigned::New(want.meter), want.meter)
            }
            Room::Full | Room::NotBefore(_) => return None,
        };
        let meter = self.meter(key);
        meter.in_use += 1;
        meter.count_recipient(now);
        self.in_use += 1;
        Some(assigned)
    }

    /// Idle sessions give way to one that is wanted: of the same machine first, then the oldest.
    fn make_room(&mut self, key: MeterKey, evicted: &mut Vec<S>) {
        loop {
            let meter = self.meter(key);
            let full_here = meter.in_use + meter.idle >= meter.sessions;
            let position = if full_here {
                self.idle.iter().position(|idle| idle.meter == key)
            } else if self.in_use + self.idle.len() >= self.sessions {
                (!self.idle.is_empty()).then_some(0)
            } else {
                None
            };
            let Some(position) = position else { return };
            let idle = self.idle.remove(position);
            self.meter(idle.meter).idle -= 1;
            evicted.push(idle.session);
        }
    }

    fn take_back(&mut self, assigned: Assigned<S>, now: Instant) {
        match assigned {
            Assigned::Idle(idle) => {
                let meter = idle.meter;
                // There was room for it a moment ago.
                let _ = self.release(meter, Some(Idle { since: now, ..idle }));
            }
            Assigned::New(meter) => drop(self.release(meter, None)),
        }
    }

    fn release(&mut self, key: MeterKey, idle: Option<Idle<S>>) -> Option<S> {
        self.in_use = self.in_use.saturating_sub(1);
        let room = self.idle.len() < MAX_IDLE_SITE;
        let meter = self.meter(key);
        meter.in_use = meter.in_use.saturating_sub(1);
        let idle = idle?;
        if !room {
            return Some(idle.session);
        }
        meter.idle += 1;
        self.idle.push(idle);
        None
    }

    fn remove_idle(&mut self, goes: impl Fn(&Idle<S>) -> bool, removed: &mut Vec<S>) {
        let gone: Vec<_> = self.idle.extract_if(.., |idle| goes(idle)).collect();
        for idle in gone {
            self.meter(idle.meter).idle -= 1;
            removed.push(idle.session);
        }
    }
}
