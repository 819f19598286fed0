//! All sites. Each sweep covers a sixteenth, so that it doesn't block callers for long.

use std::{
    collections::BTreeMap,
    ops::Bound::{Excluded, Unbounded},
};

use tokio::time::Instant;

use crate::{
    keys::{MeterKey, SiteKey},
    site::Site,
};

/// Steps of a round in which each site is swept once.
pub(crate) const SWEEP_STEPS: usize = 16;
/// Number of sites above which unused networks and routes are removed.
pub(crate) const MAX_SITES: usize = 10_000;
/// Number of networks of one IPv6 /48 above which they go first: one customer of a provider has so many for nothing.
const MAX_OF_NEIGHBOURHOOD: usize = 256;

pub(crate) struct Sites<S> {
    /// Ordered by key, so that behaviour doesn't depend on the order of hashes.
    sites: BTreeMap<SiteKey, Site<S>>,
    /// Step of the current round, and the site swept last; `None` after the last of all sites.
    step: usize,
    swept: Option<SiteKey>,
}

impl<S> Sites<S> {
    pub(crate) const fn new() -> Self {
        Self { sites: BTreeMap::new(), step: 0, swept: None }
    }

    pub(crate) fn get(&self, key: &SiteKey) -> Option<&Site<S>> {
        self.sites.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &SiteKey) -> Option<&mut Site<S>> {
        self.sites.get_mut(key)
    }

    pub(crate) fn or_insert_with(
        &mut self,
        key: &SiteKey,
        make: impl FnOnce() -> Site<S>,
    ) -> &mut Site<S> {
        self.sites.entry(key.clone()).or_insert_with(make)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SiteKey, &Site<S>)> {
        self.sites.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&SiteKey, &mut Site<S>)> {
        self.sites.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.sites.len()
    }

    /// Each call sweeps one part; the returned idle sessions must end. If there are too many sites, some of the part's
    /// unused networks and routes are removed: those of crowded neighbourhoods first, then those that have refused
    /// fewest recipients, so that nobody makes the pool forget what a machine has counted.
    pub(crate) fn sweep(&mut self, now: Instant) -> Vec<(SiteKey, MeterKey, S)> {
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
            let is_operator = matches!(key, SiteKey::Operator(..));
            let of_site = site.sweep(is_operator, now).into_iter();
            expired.extend(of_site.map(|(meter, session)| (key.clone(), meter, session)));
            if !is_operator && site.is_over() {
                over.push(key.clone());
            } else if beyond > 0 && !is_operator && !site.is_in_use() {
                unused.push(((true, site.here.refused(now), site.here.last_used), key.clone()));
            }
            swept += 1;
            self.swept = Some(key.clone());
        }
        if swept < count {
            self.swept = None;
        }
        let mut seen = None;
        for ((is_roomy, ..), key) in &mut unused {
            let neighbourhood = key.neighbourhood();
            if seen.as_ref().is_none_or(|(last, _)| *last != neighbourhood) {
                seen = Some((neighbourhood.clone(), self.is_crowded(&neighbourhood)));
            }
            *is_roomy = !seen.as_ref().is_some_and(|(_, is_crowded)| *is_crowded);
        }
        unused.sort_unstable();
        let least = unused.into_iter().take(beyond.div_ceil(SWEEP_STEPS)).map(|(_, key)| key);
        for key in over.into_iter().chain(least) {
            self.sites.remove(&key);
        }
        expired
    }

    fn is_crowded(&self, neighbourhood: &SiteKey) -> bool {
        let from = self.sites.range(neighbourhood..).map(|(key, _)| key.neighbourhood());
        let neighbours = from.take_while(|other| other == neighbourhood);
        neighbours.take(MAX_OF_NEIGHBOURHOOD + 1).count() > MAX_OF_NEIGHBOURHOOD
    }

    /// True if a round begins and only unused operators are left, whose totals are kept for the status.
    pub(crate) fn are_over(&self) -> bool {
        let is_over = |(key, site): (&SiteKey, &Site<S>)| {
            let is_operator = matches!(key, SiteKey::Operator(..));
            is_operator && !site.is_in_use() && site.here.has_forgotten()
        };
        self.step == 0 && self.iter().all(is_over)
    }
}
