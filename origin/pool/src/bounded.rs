//! A bounded memory of parties. When it is full, the group with the most entries loses some of them: accounts created to
//! fill the memory only evict each other's entries.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::keys::Key;

/// At least 1/16 of the entries are removed at a time, so that a full memory isn't searched for each new entry.
const EVICTED_DIVISOR: usize = 16;

/// A value in a [`Bounded`] memory.
pub(crate) trait Remembered {
    /// The entry's group, and its worth: in a group, entries of least worth go first.
    fn rank(&self, now: Instant) -> (Key, u64);

    /// True if nothing depends on the entry.
    fn is_over(&self, now: Instant) -> bool;
}

/// Values by key, ordered, so that behaviour doesn't depend on the order of hashes.
pub(crate) struct Bounded<K, V> {
    entries: BTreeMap<K, V>,
    most: usize,
}

impl<K: Ord + Copy, V: Remembered> Bounded<K, V> {
    pub(crate) const fn new(most: usize) -> Self {
        Self { entries: BTreeMap::new(), most }
    }

    /// An entry that is over counts as forgotten.
    pub(crate) fn get(&self, key: K, now: Instant) -> Option<&V> {
        self.entries.get(&key).filter(|value| !value.is_over(now))
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.entries.get_mut(&key)
    }

    /// Makes room for a new entry. An entry that is over begins anew.
    pub(crate) fn entry(&mut self, key: K, now: Instant, new: impl FnOnce() -> V) -> &mut V {
        let known = self.entries.get(&key).map(|value| value.is_over(now));
        if known.is_none() && self.entries.len() >= self.most {
            self.forget(now);
            if self.entries.len() >= self.most {
                self.give_way(now);
            }
        }
        if known == Some(true) {
            self.entries.remove(&key);
        }
        self.entries.entry(key).or_insert_with(new)
    }

    pub(crate) fn remove(&mut self, key: K) {
        if !self.entries.is_empty() {
            self.entries.remove(&key);
        }
    }

    pub(crate) fn range(
        &self,
        from: std::ops::RangeInclusive<K>,
    ) -> impl Iterator<Item = (&K, &V)> {
        self.entries.range(from)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    pub(crate) fn forget(&mut self, now: Instant) {
        self.entries.retain(|_, value| !value.is_over(now));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes half of the largest group's entries. If no group is large, removes the entries of least worth of all
    /// groups.
    fn give_way(&mut self, now: Instant) {
        let least = self.entries.len().div_ceil(EVICTED_DIVISOR);
        let mut sizes: BTreeMap<Key, usize> = BTreeMap::new();
        for value in self.entries.values() {
            *sizes.entry(value.rank(now).0).or_default() += 1;
        }
        let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
        let of_group = largest.filter(|(_, size)| size / 2 >= least).map(|(group, _)| group);
        let ranked = self.entries.iter().filter_map(|(key, value)| {
            let (group, worth) = value.rank(now);
            of_group.is_none_or(|largest| largest == group).then_some((worth, *key))
        });
        let mut ranked: Vec<_> = ranked.collect();
        let count = of_group.map_or(least, |_| ranked.len() / 2);
        ranked.sort_unstable();
        for (_, key) in ranked.into_iter().take(count) {
            self.entries.remove(&key);
        }
    }
}
