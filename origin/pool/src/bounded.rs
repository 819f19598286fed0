//! A bounded memory of parties. When it is full, the largest group loses entries: accounts made to fill it only evict
//! each other's.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use crate::question::Key;

/// A group with an eighth of all entries is large. At least 1/16 of the entries are removed at a time, and a quarter if no
/// group is large, so that a full memory isn't searched for each new entry.
const LARGE_DIVISOR: usize = 8;
const EVICTED_DIVISOR: usize = 4;

struct Entry<V> {
    group: Key,
    until: Instant,
    /// In a group, the entries written longest ago go first.
    written: u64,
    value: V,
}

/// Values by key, ordered, so that behaviour doesn't depend on the order of hashes.
pub(crate) struct Bounded<K, V> {
    entries: BTreeMap<K, Entry<V>>,
    most: usize,
    writes: u64,
}

impl<K: Ord + Copy, V> Bounded<K, V> {
    pub(crate) const fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most, writes: 0 }
    }

    pub(crate) fn get(&self, key: K, now: Instant) -> Option<&V> {
        self.entries.get(&key).filter(|it| it.until > now).map(|it| &it.value)
    }

    pub(crate) fn get_mut(&mut self, key: K, now: Instant) -> Option<&mut V> {
        self.entries.get_mut(&key).filter(|it| it.until > now).map(|it| &mut it.value)
    }

    pub(crate) fn entry(
        &mut self,
        key: K,
        (group, lifetime): (Key, Duration),
        now: Instant,
        new: impl FnOnce() -> V,
    ) -> &mut V {
        self.writes += 1;
        let (until, writes) = (now + lifetime, self.writes);
        if self.entries.get(&key).is_some_and(|it| it.until <= now) {
            self.entries.remove(&key);
        }
        if self.entries.len() >= self.most && !self.entries.contains_key(&key) {
            self.give_way(now);
        }
        let new = || Entry { group, until, written: writes, value: new() };
        let entry = self.entries.entry(key).or_insert_with(new);
        (entry.group, entry.until, entry.written) = (group, entry.until.max(until), writes);
        &mut entry.value
    }

    pub(crate) fn remove(&mut self, key: K) {
        self.entries.remove(&key);
    }

    pub(crate) fn iter(&self, now: Instant) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().filter(move |(_, it)| it.until > now).map(|(key, it)| (key, &it.value))
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.entries.retain(|_, it| it.until > now);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes what is over, or half of the largest group's entries. If no group is large, removes the oldest
    /// entries of all groups.
    fn give_way(&mut self, now: Instant) {
        self.forget(now);
        if self.entries.len() < self.most {
            return;
        }
        let all = self.entries.len();
        let mut sizes: BTreeMap<Key, usize> = BTreeMap::new();
        self.entries.values().for_each(|it| *sizes.entry(it.group).or_default() += 1);
        let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
        let large = largest.filter(|(_, size)| size * LARGE_DIVISOR >= all);
        let gives_way = |it: &Entry<V>| large.is_none_or(|(group, _)| group == it.group);
        let ranked = self.entries.iter().filter(|(_, it)| gives_way(it));
        let mut ranked: Vec<_> = ranked.map(|(key, it)| (it.written, *key)).collect();
        let count = large.map_or(all.div_ceil(EVICTED_DIVISOR), |(_, size)| size.div_ceil(2));
        ranked.sort_unstable();
        for (_, key) in ranked.into_iter().take(count) {
            self.entries.remove(&key);
        }
    }
}
