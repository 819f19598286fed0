//! Ends sessions, or makes them idle.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use tokio::time::{Duration, Instant, sleep};

use super::{Pool, State};
use crate::{
    keys::SiteKey,
    site::{IdleSession, MAX_IDLE_SITE},
    sites::SWEEP_STEPS,
};

/// A session lives at most this much longer than allowed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

const MAX_IDLE: usize = 1_024;
/// Finding one of too many sessions takes as long as finding all.
const CLOSED_TOGETHER: usize = 32;

impl<S: Send + 'static> Pool<S> {
    pub(super) fn end(self: &Arc<Self>, key: &SiteKey, id: u64, answered: bool) {
        let due = self.lock().end(key, (id, answered), None, Instant::now());
        self.serve_at(due, key);
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
        let (mut state, now) = (self.lock(), idle.since);
        if state.idle >= MAX_IDLE {
            state.close_of_largest_group();
        }
        if state.sites.all.get(key).is_none_or(|site| site.here.idle.len() >= MAX_IDLE_SITE) {
            return Some(idle.session);
        }
        let due = state.end(key, (id, answered), Some(idle), now);
        drop(state);
        self.serve_at(due, key);
        self.sweep_soon();
        None
    }

    pub fn drain(&self) -> usize {
        let mut state = self.lock();
        state.idle = 0;
        state.sites.all.values_mut().map(|site| site.here.close_idle(|_| true)).sum()
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
        state.idle -= state.sites.sweep(now);
        let nothing_left = state.sites.are_over();
        if nothing_left {
            // Set under the lock, so that later callers see that no sweep is running.
            self.sweeping.store(false, Ordering::Release);
        }
        #[cfg(test)]
        {
            state.sweeps += 1;
        }
        nothing_left
    }
}

impl<S> State<S> {
    fn end(
        &mut self,
        key: &SiteKey,
        (id, answered): (u64, bool),
        idle: Option<IdleSession<S>>,
        now: Instant,
    ) -> Option<Instant> {
        let (is_cut, due) =
            self.at(key, |site| (site.end(id, answered, idle, now), site.serve(now)))?;
        self.count(key, |totals| totals.cut += u64::from(is_cut));
        due
    }

    fn close_of_largest_group(&mut self) {
        let mut groups: BTreeMap<_, Vec<Instant>> = BTreeMap::new();
        for idle in self.sites.all.values().flat_map(|site| site.here.idle.iter()) {
            groups.entry(idle.group).or_default().push(idle.since);
        }
        let largest = groups.into_iter().max_by_key(|(_, of_group)| of_group.len());
        let Some((group, mut since)) = largest else { return };
        since.sort_unstable();
        let Some(last) = since.get(CLOSED_TOGETHER.min(since.len()) - 1) else { return };
        for site in self.sites.all.values_mut() {
            self.idle -= site.here.close_idle(|idle| idle.group == group && idle.since <= *last);
        }
    }
}
