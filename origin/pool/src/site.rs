//! A unit of shared limits: the sessions with one operator from one source address, with the machines of one network,
//! or with one route. A site includes the waiting checks.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Settings,
    meter::{Limits, Meter},
    sessions::{Grant, Idle, Room, Sessions, earlier},
    site_key::MeterKey,
    waiting::{Answer, GrantedSession, Waiting},
    want::Want,
};

pub(super) struct Site<S> {
    pub sessions: Sessions<S>,
    pub waiting: Waiting<S>,
    /// Time at which the timer next serves waiting checks.
    timer: Option<Instant>,
}

impl<S> Site<S> {
    pub(super) fn new(
        limits: (Limits, usize),
        settings: &Settings,
        all_idle: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            sessions: Sessions::new(limits, settings.max_idle, all_idle),
            waiting: Waiting::new(settings.pace.batch_turn, Instant::now()),
            timer: None,
        }
    }

    pub(super) fn meter(&mut self, key: MeterKey) -> &mut Meter {
        self.sessions.meter(key)
    }

    pub(super) fn meter_of(&mut self, machine: IpAddr, now: Instant) -> MeterKey {
        self.sessions.meter_of(machine, || self.waiting.meters(), now)
    }

    pub(super) fn serve_newcomer(
        &mut self,
        want: &Want,
        idle: Option<Room>,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> Option<Grant<S>> {
        if !self.waiting.is_empty() {
            return None;
        }
        let room = idle.unwrap_or_else(|| self.sessions.room(want, now));
        self.sessions.grant(room, want, now, evicted)
    }

    /// The error is the duration for which the party must wait because of recently refused recipients.
    pub(super) fn idle_for(&self, want: &Want, now: Instant) -> Result<Option<Room>, Duration> {
        match self.sessions.room(want, now) {
            Room::Spent(after) => Err(after),
            idle @ Room::Idle(_) => Ok(self.waiting.is_empty().then_some(idle)),
            Room::New | Room::NotBefore(_) | Room::Taken(_) => Ok(None),
        }
    }

    pub(super) fn wait(
        &mut self,
        want: Box<Want>,
        answer: oneshot::Sender<Answer<S>>,
        most: (usize, usize),
        now: Instant,
    ) {
        self.waiting.push(want, answer, most, now);
    }

    /// The result includes the time of the next attempt. The caller must close the evicted sessions before handing over
    /// the granted sessions.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        evicted: &mut Vec<S>,
    ) -> (Vec<GrantedSession<S>>, Option<Instant>) {
        let Self { sessions, waiting, timer } = self;
        waiting.forget_left(now);
        let (mut granted, mut next) = (Vec::new(), None);
        while !waiting.is_empty() {
            if let Some(until) = sessions.closed_until(now) {
                next = earlier(next, until);
                break;
            }
            match waiting.serve_next(sessions, now, &mut next, evicted) {
                Some(one) => granted.push(one),
                None => break,
            }
        }
        if waiting.is_empty() {
            return (granted, None);
        }
        next = earlier(next, sessions.cut_longest(waiting.wants(), now));
        // An earlier timer will call this function again.
        next = next.filter(|due| timer.is_none_or(|timer| *due < timer));
        *timer = next.or(*timer);
        (granted, next)
    }

    pub(super) fn timer_fired(&mut self, due: Instant) {
        self.timer.take_if(|timer| *timer <= due);
    }

    pub(super) fn take_back(&mut self, grant: Grant<S>, now: Instant) {
        let idle = grant.idle.map(|idle| Idle { since: now, ..idle });
        self.release(grant.id, false, idle, now);
    }

    /// True if checks are waiting.
    pub(super) fn release(
        &mut self,
        id: u64,
        answered: bool,
        idle: Option<Idle<S>>,
        now: Instant,
    ) -> bool {
        let waiting = &self.waiting;
        let others_wait = |account| waiting.wants().any(|want| want.party.account != account);
        if let Some(ended) = self.sessions.release(id, answered, idle, others_wait, now) {
            self.waiting.charge(ended, now);
        }
        !self.waiting.is_empty()
    }

    /// The result is the sessions that were idle for too long. `keeps_totals` keeps the meter of the whole site.
    pub(super) fn sweep(&mut self, keeps_totals: bool, now: Instant) -> Vec<(MeterKey, S)> {
        self.waiting.forget_left(now);
        let mut stored_meters = self.waiting.meters();
        stored_meters.extend(keeps_totals.then_some(None));
        self.sessions.sweep(&stored_meters, now)
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.sessions.are_there() || !self.waiting.is_empty()
    }

    /// True if a [`Site::sweep`] has left no state.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.waiting.is_empty() && self.sessions.is_over(now)
    }
}
