//! All sites, in shards that are swept one at a time, so that a sweep doesn't block others for
//! long.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::{
    HashKey,
    site::Site,
    site_key::{MeterKey, SiteKey},
};

pub(super) const SHARDS: usize = 16;
/// Most sites remembered after their last session.
const MAX_SITES: usize = 10_000;

pub(super) struct Sites<S> {
    /// Ordered by key, so that behaviour doesn't depend on the order of hashes.
    shards: Vec<BTreeMap<SiteKey, Site<S>>>,
    keys: HashKey,
    swept: usize,
}

impl<S> Sites<S> {
    pub(super) fn new(keys: HashKey) -> Self {
        let shards = (0..SHARDS).map(|_| BTreeMap::new()).collect();
        Self { shards, keys, swept: 0 }
    }

    fn shard(&self, key: &SiteKey) -> usize {
        usize::try_from(self.keys.hash_one(key) % SHARDS as u64).unwrap_or_default()
    }

    pub(super) fn get(&self, key: &SiteKey) -> Option<&Site<S>> {
        self.shards.get(self.shard(key))?.get(key)
    }

    pub(super) fn get_mut(&mut self, key: &SiteKey) -> Option<&mut Site<S>> {
        let shard = self.shard(key);
        self.shards.get_mut(shard)?.get_mut(key)
    }

    pub(super) fn or_insert_with(
        &mut self,
        key: &SiteKey,
        make: impl FnOnce() -> Site<S>,
    ) -> &mut Site<S> {
        let shard = self.shard(key);
        #[expect(clippy::indexing_slicing, reason = "a remainder of their number")]
        self.shards[shard].entry(key.clone()).or_insert_with(make)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SiteKey, &Site<S>)> {
        self.shards.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&SiteKey, &mut Site<S>)> {
        self.shards.iter_mut().flatten()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> usize {
        self.shards.iter().map(BTreeMap::len).sum()
    }

    /// Sweeps the next shard, and returns the idle sessions that must end.
    pub(super) fn sweep(&mut self, now: Instant) -> Vec<(SiteKey, MeterKey, S)> {
        let beyond = self.len().saturating_sub(MAX_SITES);
        self.swept = (self.swept + 1) % SHARDS;
        let Some(shard) = self.shards.get_mut(self.swept) else { return Vec::new() };
        let mut expired = Vec::new();
        shard.retain(|key, site| {
            let of_site = site.sweep(key.is_operator(), now).into_iter();
            expired.extend(of_site.map(|(meter, session)| (key.clone(), meter, session)));
            key.is_operator() || !site.is_over(now)
        });
        if beyond > 0 {
            forget_oldest(shard, beyond.div_ceil(SHARDS));
        }
        expired
    }

    /// Returns whether all shards have been swept once and only operators are left, whose totals
    /// are kept for the status.
    pub(super) fn are_over(&self) -> bool {
        self.swept == 0 && self.iter().all(|(key, site)| key.is_operator() && !site.is_in_use())
    }
}

/// Removes the least recently used sites; machines with recent refusals are kept longest.
fn forget_oldest<S>(shard: &mut BTreeMap<SiteKey, Site<S>>, count: usize) {
    let mut unused: Vec<_> = shard
        .iter()
        .filter(|(key, site)| !key.is_operator() && !site.is_in_use())
        .map(|(key, site)| (site.sessions.last_used, key.clone()))
        .collect();
    unused.sort_unstable_by_key(|(last_used, _)| *last_used);
    for (_, key) in unused.into_iter().take(count) {
        shard.remove(&key);
    }
}
