//! All sites. Each sweep covers a sixteenth, so that it doesn't block callers for long.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use tokio::time::Instant;

use crate::{keys::SiteKey, site::Site};

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
        let (mut expired, mut over, mut unused, mut swept) = (0, Vec::new(), Vec::new(), None);
        let mut crowds: BTreeMap<SiteKey, usize> = BTreeMap::new();
        let mut part = self.all.range_mut((from, Unbounded));
        for (key, site) in part.by_ref().take(count) {
            let is_operator = matches!(key, SiteKey::Operator(..));
            expired += site.sweep(is_operator, now);
            if !is_operator && site.is_over() {
                over.push(key.clone());
            } else if beyond > 0 && !is_operator && !site.is_in_use() {
                *crowds.entry(key.neighbourhood()).or_default() += 1;
                unused.push((key.clone(), (site.here.refused(now), site.here.last_used)));
            }
            swept = Some(key.clone());
        }
        self.swept = swept.filter(|_| part.next().is_some());
        let is_crowded = |key: &SiteKey| {
            crowds.get(&key.neighbourhood()).is_some_and(|crowd| *crowd > MAX_OF_NEIGHBOURHOOD)
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
