//! The sessions that we have with a site, and whether there is room for one more.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::{
    MAX_IDLE_SITE,
    meter::{Limits, Meter},
    site::{Assigned, Idle, MeterKey, Want},
};

/// Whether there is room for one more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// This idle session serves.
    Idle(usize),
    New,
    /// As many are in use as may be.
    Full,
    NotBefore(Instant),
}

/// What we have with the site.
pub(super) struct Held<S> {
    /// For each machine that is new here.
    pub limits: Limits,
    /// Sessions at once, with all machines.
    pub sessions: usize,
    pub max_idle: Duration,
    pub in_use: usize,
    /// The last to come back is last, and the first to be used again.
    pub idle: Vec<Idle<S>>,
    pub meters: HashMap<MeterKey, Meter>,
}

impl<S> Held<S> {
    pub(super) fn meter(&mut self, key: MeterKey) -> &mut Meter {
        let limits = self.limits;
        self.meters.entry(key).or_insert_with(|| Meter::new(limits))
    }

    /// There is room for none of those who wait: until when, or until a session comes back. It spares
    /// looking at each of hundreds.
    pub(super) fn closed(&self, now: Instant) -> Option<Option<Instant>> {
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

    pub(super) fn room(&mut self, want: Want<'_>, now: Instant) -> Room {
        let max_idle = self.max_idle;
        let fits = |idle: &Idle<S>| {
            !want.afresh
                && *idle.host == *want.host
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

    pub(super) fn assign(
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

    pub(super) fn take_back(&mut self, assigned: Assigned<S>, now: Instant) {
        match assigned {
            Assigned::Idle(idle) => {
                let meter = idle.meter;
                self.release(meter, Some(Idle { since: now, ..idle }));
            }
            Assigned::New(meter) => self.release(meter, None),
        }
    }

    /// Makes room: the session has been closed, or lies idle from now on.
    pub(super) fn release(&mut self, key: MeterKey, idle: Option<Idle<S>>) {
        self.in_use = self.in_use.saturating_sub(1);
        let meter = self.meter(key);
        meter.in_use = meter.in_use.saturating_sub(1);
        if let Some(idle) = idle {
            meter.idle += 1;
            self.idle.push(idle);
        }
    }

    /// Whether one more may lie idle.
    pub(super) const fn has_room_for_idle(&self) -> bool {
        self.idle.len() < MAX_IDLE_SITE
    }

    /// Takes out the idle sessions that are to end. Each is in use until it is closed and released: no other one may
    /// be opened in its place before.
    pub(super) fn take_idle(&mut self, ends: impl Fn(&Idle<S>) -> bool) -> Vec<(MeterKey, S)> {
        let ending: Vec<_> = self.idle.extract_if(.., |idle| ends(idle)).collect();
        let in_use = ending.into_iter().map(|idle| {
            let meter = self.meter(idle.meter);
            meter.idle -= 1;
            meter.in_use += 1;
            self.in_use += 1;
            (idle.meter, idle.session)
        });
        in_use.collect()
    }
}
