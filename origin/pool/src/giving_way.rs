//! Eviction from a full memory of parties: the group with the most entries loses some of them. Accounts created to fill
//! the memory only evict each other's entries.

use super::{Key, hash_key::ByKey};

/// At least 1/16 of the entries are removed at a time, so that a full memory isn't searched for
/// each new entry.
const EVICTED_DIVISOR: usize = 16;

/// Removes half of the largest group's entries, those of least worth first. If no group is large, removes the entries
/// of least worth of all groups. `rank` returns an entry's group and worth.
pub(super) fn give_way<V, W: Ord + Copy>(entries: &mut ByKey<V>, rank: impl Fn(&V) -> (Key, W)) {
    let least = entries.len().div_ceil(EVICTED_DIVISOR);
    let mut sizes: ByKey<usize> = ByKey::default();
    for entry in entries.values() {
        *sizes.entry(rank(entry).0).or_default() += 1;
    }
    let largest = sizes.into_iter().max_by_key(|(_, size)| *size);
    let of_group = largest.filter(|(_, size)| size / 2 >= least).map(|(group, _)| group);
    let ranked = entries.iter().filter_map(|(key, entry)| {
        let (group, worth) = rank(entry);
        of_group.is_none_or(|largest| largest == group).then_some((worth, *key))
    });
    let mut ranked: Vec<_> = ranked.collect();
    let count = of_group.map_or(least, |_| ranked.len() / 2);
    ranked.sort_unstable();
    for (_, key) in ranked.into_iter().take(count) {
        entries.remove(&key);
    }
}
