//! Sessions of one site that wait for their next recipient.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    keys::{Key, MeterKey},
    want::Want,
};

/// Maximum number of a site's idle sessions.
pub(crate) const MAX_IDLE_SITE: usize = 64;

pub(crate) struct IdleSession<S> {
    pub host: Arc<str>,
    pub identity: usize,
    pub meter: MeterKey,
    pub address: Option<IpAddr>,
    pub group: Key,
    /// True if the session may also serve other names of its machine.
    pub is_shared: bool,
    pub since: Instant,
    pub session: S,
}

impl<S> IdleSession<S> {
    fn serves(&self, want: &Want) -> bool {
        let is_its_machine = self.is_shared && self.meter.is_some() && self.meter == want.meter;
        !want.afresh
            && (*self.host == *want.host || is_its_machine)
            && self.identity == want.identity
    }

    pub(crate) fn is_over(&self, max_idle: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= max_idle
    }
}

/// In order of last use; the most recently used session is reused first.
pub(crate) struct Idle<S> {
    sessions: Vec<IdleSession<S>>,
    max_idle: Duration,
}

impl<S> Idle<S> {
    pub(crate) const fn new(max_idle: Duration) -> Self {
        Self { sessions: Vec::new(), max_idle }
    }

    pub(crate) const fn max_idle(&self) -> Duration {
        self.max_idle
    }

    /// Index of a session for the check, if `may_use` allows the session's meter.
    pub(crate) fn fitting(
        &self,
        want: &Want,
        may_use: impl Fn(MeterKey) -> bool,
        now: Instant,
    ) -> Option<usize> {
        let fits = |idle: &IdleSession<S>| {
            idle.serves(want) && !idle.is_over(self.max_idle, now) && may_use(idle.meter)
        };
        self.sessions.iter().rposition(fits)
    }

    pub(crate) fn first_of(&self, meter: MeterKey) -> Option<usize> {
        self.sessions.iter().position(|idle| idle.meter == meter)
    }

    pub(crate) fn remove(&mut self, index: usize) -> IdleSession<S> {
        self.sessions.remove(index)
    }

    pub(crate) fn push(&mut self, session: IdleSession<S>) {
        self.sessions.push(session);
    }

    pub(crate) fn extract(
        &mut self,
        ends: impl Fn(&IdleSession<S>) -> bool,
    ) -> Vec<IdleSession<S>> {
        self.sessions.extract_if(.., |idle| ends(idle)).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &IdleSession<S>> {
        self.sessions.iter()
    }

    pub(crate) const fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    pub(crate) const fn has_room(&self) -> bool {
        self.sessions.len() < MAX_IDLE_SITE
    }
}
