//! Ends sessions, or makes them idle.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use tokio::time::{Duration, Instant, sleep};

use super::{Pool, State};
use crate::{
    idle::IdleSession,
    keys::{MeterKey, SiteKey},
    site::Turn,
    sites::SWEEP_STEPS,
};

/// Interval of the sweep of idle sessions: a session lives at most this much longer than allowed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of idle sessions in total.
const MAX_IDLE: usize = 1_024;
/// Number of idle sessions closed together when there are too many: finding one session takes as
/// long as finding all.
const CLOSED_TOGETHER: usize = 32;

impl<S: Send + 'static> Pool<S> {
    pub(super) fn end(self: &Arc<Self>, key: &SiteKey, id: u64, answered: bool) {
        let turn = self.lock().end(key, (id, answered), None, Instant::now());
        turn.into_iter().for_each(|turn| self.act(key, turn));
        self.sweep_soon();
    }

    /// The session comes back if its site has too many idle sessions. If too many are idle in total, some of the
    /// largest group are closed.
    pub(super) fn lie_idle(
        self: &Arc<Self>,
        key: &SiteKey,
        id: u64,
        answered: bool,
        idle: IdleSession<S>,
    ) -> Option<S> {
        let mut state = self.lock();
        let given_way =
            if state.idle >= MAX_IDLE { state.idle_of_largest_group() } else { Vec::new() };
        let now = idle.since;
        if !state.sites.get(key).is_some_and(|site| site.here.idle.has_room()) {
            drop(state);
            self.end_all(given_way);
            return Some(idle.session);
        }
        let turn = state.end(key, (id, answered), Some(idle), now);
        drop(state);
        self.end_all(given_way);
        turn.into_iter().for_each(|turn| self.act(key, turn));
        self.sweep_soon();
        None
    }

    fn end_all(self: &Arc<Self>, sessions: Vec<(SiteKey, MeterKey, S)>) {
        for (key, meter, session) in sessions {
            (self.close)(session);
            let turn = self.lock().at(&key, |site| {
                site.here.closed(meter);
                (site.waiting() > 0).then(|| site.serve(Instant::now()))
            });
            turn.flatten().into_iter().for_each(|turn| self.act(&key, turn));
        }
    }

    /// Removes and returns all idle sessions, to be closed.
    pub fn drain(&self) -> Vec<S> {
        let mut state = self.lock();
        let mut drained = Vec::new();
        for (_, site) in state.sites.iter_mut() {
            for (meter, session) in site.here.take_idle(|_| true) {
                site.here.closed(meter);
                drained.push(session);
            }
        }
        state.idle = 0;
        drained
    }

    /// Only one task runs: it sweeps all sites once a second until nothing is left.
    pub(super) fn sweep_soon(self: &Arc<Self>) {
        if self.is_sweeping() {
            return;
        }
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            while {
                sleep(SWEEP_INTERVAL / SWEEP_STEPS as u32).await;
                !pool.sweep()
            } {}
        });
    }

    /// Each call sweeps one part of the sites; true if nothing is left.
    pub(crate) fn sweep(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let mut state = self.lock();
        let expired = state.sites.sweep(now);
        state.idle = state.idle.saturating_sub(expired.len());
        let nothing_left = state.sites.are_over();
        if nothing_left {
            // Set under the lock, so that later callers see that no sweep is running.
            self.sweeping.store(false, Ordering::Release);
        }
        #[cfg(test)]
        {
            state.sweeps += 1;
        }
        drop(state);
        self.end_all(expired);
        nothing_left
    }
}

impl<S> State<S> {
    /// Ends a use of a session, and serves those who wait.
    fn end(
        &mut self,
        key: &SiteKey,
        (id, answered): (u64, bool),
        idle: Option<IdleSession<S>>,
        now: Instant,
    ) -> Option<Turn<S>> {
        let (is_cut, turn) = self.at(key, |site| {
            let is_cut = site.end(id, answered, idle, now);
            (is_cut, (site.waiting() > 0).then(|| site.serve(now)))
        })?;
        self.others.cut += u64::from(is_cut && key.is_network());
        turn
    }

    /// Removes the least recently used sessions of the group with the most idle sessions.
    fn idle_of_largest_group(&mut self) -> Vec<(SiteKey, MeterKey, S)> {
        let mut groups: BTreeMap<_, Vec<Instant>> = BTreeMap::new();
        for idle in self.sites.iter().flat_map(|(_, site)| site.here.idle.iter()) {
            groups.entry(idle.group).or_default().push(idle.since);
        }
        let largest = groups.into_iter().max_by_key(|(_, of_group)| of_group.len());
        let Some((group, mut since)) = largest else { return Vec::new() };
        since.sort_unstable();
        let Some(last) = since.get(CLOSED_TOGETHER.min(since.len()) - 1) else { return Vec::new() };
        let mut idle_sessions = Vec::new();
        for (key, site) in self.sites.iter_mut() {
            let of_site = site.here.take_idle(|idle| idle.group == group && idle.since <= *last);
            let with_key =
                of_site.into_iter().map(|(meter, session)| (key.clone(), meter, session));
            idle_sessions.extend(with_key);
        }
        self.idle = self.idle.saturating_sub(idle_sessions.len());
        idle_sessions
    }
}
