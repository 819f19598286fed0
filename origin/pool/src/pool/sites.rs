//! All sites, and the end of their sessions: used, idle for too long, too many. Each sweep covers a sixteenth of the
//! sites, so that it doesn't block callers for long.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
    sync::{Arc, atomic::Ordering},
};

use tokio::time::{Duration, Instant, sleep};

use super::{Pool, State};
use crate::{
    question::SiteKey,
    site::{IdleSession, MAX_IDLE_SITE, Site},
};

/// A session lives at most this much longer than allowed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) const MAX_IDLE: usize = 1_024;
/// Finding one of too many sessions takes as long as finding all.
const CLOSED_TOGETHER: usize = 32;

pub(crate) const SWEEP_STEPS: usize = 16;
pub(crate) const MAX_SITES: usize = 10_000;
/// Number of networks of one IPv6 /48 above which they go first: one customer of a provider has so many for nothing.
const MAX_OF_NEIGHBOURHOOD: usize = 256;

pub(crate) struct Sites<S> {
    /// Ordered by key, so that behaviour doesn't depend on the order of hashes.
    pub all: BTreeMap<SiteKey, Site<S>>,
    /// The site swept last; `None` after the last of all sites.
    swept: Option<SiteKey>,
}

impl<S> Sites<S> {
    pub(crate) const fn new() -> Self {
        Self { all: BTreeMap::new(), swept: None }
    }

    /// Each call sweeps one part; the result is the number of idle sessions that were closed. If there are too many
    /// sites, some of the part's unused networks and routes are removed: those of crowded neighbourhoods first, then
    /// those that have refused fewest recipients, so that nobody makes the pool forget what a machine has counted.
    pub(crate) fn sweep(&mut self, now: Instant) -> usize {
        let from = self.swept.take().map_or(Unbounded, Excluded);
        let beyond = self.all.len().saturating_sub(MAX_SITES);
        let count = self.all.len().div_ceil(SWEEP_STEPS);
        // The last part has the rest too: of few sites alone, all would be removed.
        let left = self.all.range((from.clone(), Unbounded)).take(2 * count).count();
        let count = if left < 2 * count { left } else { count };
        let (mut expired, mut over, mut unused, mut swept) = (0, Vec::new(), Vec::new(), None);
        let mut part = self.all.range_mut((from, Unbounded));
        for (key, site) in part.by_ref().take(count) {
            let is_operator = matches!(key, SiteKey::Operator(..));
            expired += site.sweep(is_operator, now);
            if !is_operator && site.is_over() {
                over.push(key.clone());
            } else if beyond > 0 && !is_operator && !site.is_in_use() {
                unused.push((key.clone(), (site.here.refused(now), site.here.last_used)));
            }
            swept = Some(key.clone());
        }
        self.swept = swept.filter(|_| part.next().is_some());
        let (all, mut crowded) = (&self.all, BTreeMap::new());
        let mut is_crowded = |key: &SiteKey| {
            let of = key.neighbourhood();
            // Neighbours are next to each other, and not all of them in this part.
            let there = all.range(of.clone()..).take_while(|(it, _)| it.neighbourhood() == of);
            let count = || there.take(MAX_OF_NEIGHBOURHOOD + 1).count();
            *crowded.entry(of.clone()).or_insert_with(|| count() > MAX_OF_NEIGHBOURHOOD)
        };
        unused.sort_by_cached_key(|(key, worth)| (!is_crowded(key), *worth));
        let least = unused.into_iter().take(beyond.div_ceil(SWEEP_STEPS)).map(|(key, _)| key);
        for key in over.into_iter().chain(least) {
            self.all.remove(&key);
        }
        expired
    }

    /// True if only unused operators are left, whose totals are kept for the status.
    pub(crate) fn are_over(&self) -> bool {
        let is_over = |(key, site): (&SiteKey, &Site<S>)| {
            let is_operator = matches!(key, SiteKey::Operator(..));
            is_operator && !site.is_in_use() && site.here.has_forgotten()
        };
        self.all.iter().all(is_over)
    }
}

impl<S: Send + 'static> Pool<S> {
    pub(super) fn end(self: &Arc<Self>, key: &SiteKey, id: u64, answered: bool) {
        let due = self.lock().end(key, (id, answered), None, Instant::now());
        self.serve_at(due, key);
        self.sweep_soon();
    }

    /// The session comes back if its site has too many idle sessions. If too many are idle in total, the oldest are
    /// closed.
    pub(super) fn lie_idle(
        self: &Arc<Self>,
        key: &SiteKey,
        id: u64,
        answered: bool,
        idle: IdleSession<S>,
    ) -> Option<S> {
        let (mut state, now) = (self.lock(), idle.since);
        if state.idle >= MAX_IDLE {
            state.close_oldest();
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

    fn close_oldest(&mut self) {
        let idle = self.sites.all.values().flat_map(|site| site.here.idle.iter());
        let mut since: Vec<_> = idle.map(|idle| idle.since).collect();
        since.sort_unstable();
        let Some(last) = since.get(CLOSED_TOGETHER - 1) else { return };
        for site in self.sites.all.values_mut() {
            self.idle -= site.here.close_idle(|idle| idle.since <= *last);
        }
    }
}
