//! Ends sessions, or makes them idle.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use tokio::time::{Instant, sleep};

use super::{
    Pool, SWEEP_INTERVAL, State,
    sessions::Idle,
    site_key::{MeterKey, SiteKey},
    sites::SWEEP_STEPS,
};

/// Maximum number of idle sessions in total.
const MAX_IDLE: usize = 1_024;
/// Number of idle sessions closed together when there are too many: finding one session takes as
/// long as finding all.
const CLOSED_TOGETHER: usize = 32;

impl<S: Send + 'static> Pool<S> {
    pub(super) fn end(self: &Arc<Self>, key: &SiteKey, id: u64, answered: bool) {
        let has_waiting = self
            .lock()
            .sites
            .get_mut(key)
            .is_some_and(|site| site.release(id, answered, None, Instant::now()));
        if has_waiting {
            self.pump(key);
        }
        self.sweep_soon();
    }

    /// The session comes back if its site has too many idle sessions. If too many are idle in total, some of the
    /// largest group are closed.
    pub(super) fn lie_idle(
        self: &Arc<Self>,
        key: &SiteKey,
        id: u64,
        answered: bool,
        idle: Idle<S>,
    ) -> Option<S> {
        let mut state = self.lock();
        let given_way = if self.idle.load(Ordering::Relaxed) >= MAX_IDLE {
            state.idle_of_largest_group()
        } else {
            Vec::new()
        };
        let site = state.sites.get_mut(key).filter(|site| site.sessions.has_room_for_idle());
        let (left, has_waiting) = match site {
            Some(site) => {
                let since = idle.since;
                (None, site.release(id, answered, Some(idle), since))
            }
            None => (Some(idle.session), false),
        };
        drop(state);
        self.end_all(given_way);
        if has_waiting {
            self.pump(key);
        }
        self.sweep_soon();
        left
    }

    fn end_all(self: &Arc<Self>, sessions: Vec<(SiteKey, MeterKey, S)>) {
        for (key, meter, session) in sessions {
            (self.close)(session);
            let has_waiting = self.lock().sites.get_mut(&key).is_some_and(|site| {
                site.sessions.record_closed_idle(meter);
                !site.waiting.is_empty()
            });
            if has_waiting {
                self.pump(&key);
            }
        }
    }

    /// Removes and returns all idle sessions, to be closed.
    pub fn drain(&self) -> Vec<S> {
        let mut drained = Vec::new();
        for (_, site) in self.lock().sites.iter_mut() {
            for (meter, session) in site.sessions.take_idle(|_| true) {
                site.sessions.record_closed_idle(meter);
                drained.push(session);
            }
        }
        drained
    }

    /// Only one task runs: it sweeps all sites once a second until nothing is left.
    pub(super) fn sweep_soon(self: &Arc<Self>) {
        if self.sweeping.load(Ordering::Relaxed) || self.sweeping.swap(true, Ordering::AcqRel) {
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

    /// One call sweeps one part of the sites; true if nothing is left.
    pub(super) fn sweep(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let mut state = self.lock();
        let expired = state.sites.sweep(now);
        state.domains.forget(now);
        state.addresses.forget(now);
        let nothing_left =
            state.domains.is_empty() && state.addresses.is_empty() && state.sites.are_over();
        if nothing_left {
            // Set under the lock, so that later callers see that no sweep is running.
            self.sweeping.store(false, Ordering::Release);
        }
        drop(state);
        #[cfg(test)]
        self.sweeps.fetch_add(1, Ordering::Relaxed);
        self.end_all(expired);
        nothing_left
    }
}

impl<S> State<S> {
    /// Removes the least recently used sessions of the group with the most idle sessions.
    fn idle_of_largest_group(&mut self) -> Vec<(SiteKey, MeterKey, S)> {
        let mut groups: BTreeMap<_, Vec<Instant>> = BTreeMap::new();
        for idle in self.sites.iter().flat_map(|(_, site)| site.sessions.idle()) {
            groups.entry(idle.group).or_default().push(idle.since);
        }
        let largest = groups.into_iter().max_by_key(|(_, of_group)| of_group.len());
        let Some((group, mut since)) = largest else { return Vec::new() };
        since.sort_unstable();
        let Some(last) = since.get(CLOSED_TOGETHER.min(since.len()) - 1) else { return Vec::new() };
        let mut idle_sessions = Vec::new();
        for (key, site) in self.sites.iter_mut() {
            let of_site =
                site.sessions.take_idle(|idle| idle.group == group && idle.since <= *last);
            let with_key =
                of_site.into_iter().map(|(meter, session)| (key.clone(), meter, session));
            idle_sessions.extend(with_key);
        }
        idle_sessions
    }
}
