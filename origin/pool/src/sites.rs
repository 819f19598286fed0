//! All sites. Each sweep covers a sixteenth, so that it doesn't block callers for long.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use tokio::time::Instant;

use super::{
    site::Site,
    site_key::{MeterKey, SiteKey},
};

/// Steps of a round in which each site is swept once.
pub(super) const SWEEP_STEPS: usize = 16;
/// Number of sites above which unused networks and routes are removed.
const MAX_SITES: usize = 10_000;

pub(super) struct Sites<S> {
    /// Ordered by key, so that behaviour doesn't depend on the order of hashes.
    sites: BTreeMap<SiteKey, Site<S>>,
    /// Step of the current round, and the site swept last; `None` after the last of all sites.
    step: usize,
    swept: Option<SiteKey>,
}

impl<S> Sites<S> {
    pub(super) const fn new() -> Self {
        Self { sites: BTreeMap::new(), step: 0, swept: None }
    }

    pub(super) fn get(&self, key: &SiteKey) -> Option<&Site<S>> {
        self.sites.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &SiteKey) -> Option<&mut Site<S>> {
        self.sites.get_mut(key)
    }

    pub(super) fn or_insert_with(
        &mut self,
        key: &SiteKey,
        make: impl FnOnce() -> Site<S>,
    ) -> &mut Site<S> {
        self.sites.entry(key.clone()).or_insert_with(make)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SiteKey, &Site<S>)> {
        self.sites.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&SiteKey, &mut Site<S>)> {
        self.sites.iter_mut()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// One call sweeps one part; the returned idle sessions must end. If there are too many sites, the least recently
    /// used of the part's unused networks and routes are removed.
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<(SiteKey, MeterKey, S)> {
        self.step = (self.step + 1) % SWEEP_STEPS;
        let from = match self.swept.take() {
            Some(last) => Excluded(last),
            None if self.step == 0 => Unbounded,
            None => return Vec::new(),
        };
        let beyond = self.sites.len().saturating_sub(MAX_SITES);
        let count = self.sites.len().div_ceil(SWEEP_STEPS);
        let (mut expired, mut over, mut unused, mut swept) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        for (key, site) in self.sites.range_mut((from, Unbounded)).take(count) {
            let of_site = site.sweep(key.is_operator(), now).into_iter();
            expired.extend(of_site.map(|(meter, session)| (key.clone(), meter, session)));
            if !key.is_operator() && site.is_over(now) {
                over.push(key.clone());
            } else if beyond > 0 && !key.is_operator() && !site.is_in_use() {
                unused.push((site.sessions.last_used, key.clone()));
            }
            swept += 1;
            self.swept = Some(key.clone());
        }
        if swept < count {
            self.swept = None;
        }
        unused.sort_unstable_by_key(|(last_used, _)| *last_used);
        let oldest = unused.into_iter().take(beyond.div_ceil(SWEEP_STEPS)).map(|(_, key)| key);
        for key in over.into_iter().chain(oldest) {
            self.sites.remove(&key);
        }
        expired
    }

    /// True if a round begins and only unused operators without debtors are left, whose totals are kept for the status.
    pub(super) fn are_over(&self) -> bool {
        let is_over = |(key, site): (&SiteKey, &Site<S>)| {
            key.is_operator() && !site.is_in_use() && !site.sessions.has_debtors()
        };
        self.step == 0 && self.iter().all(is_over)
    }
}
