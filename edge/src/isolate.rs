//! Memory that the requests of an isolate share. It is plain data, because a request mustn't await what another request
//! has started.

use std::{
    borrow::Borrow,
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

pub const FOREVER: u64 = u64::MAX;

pub type Slot<V> = Option<(V, u64)>;

/// A bounded map whose entries expire.
pub struct Map<K, V> {
    entries: Mutex<HashMap<K, (V, u64)>>,
    most: usize,
}

impl<K, V> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("most", &self.most).finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, V> Map<K, V> {
    /// A new entry beyond `most` displaces all expired entries or, if there are none, all entries.
    pub fn new(most: usize) -> Self {
        Self { entries: Mutex::default(), most }
    }

    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q, now: u64) -> Option<V>
    where
        K: Borrow<Q>,
        V: Clone,
    {
        self.lock().get(key).filter(|(_, until)| now < *until).map(|(value, _)| value.clone())
    }

    pub fn update<R>(&self, key: K, now: u64, change: impl FnOnce(&mut Slot<V>) -> R) -> R {
        let mut entries = self.lock();
        let mut slot = entries.remove(&key).filter(|(_, until)| now < *until);
        let result = change(&mut slot);
        if let Some(entry) = slot {
            if entries.len() >= self.most {
                entries.retain(|_, (_, until)| now < *until);
            }
            if entries.len() >= self.most {
                entries.clear();
            }
            entries.insert(key, entry);
        }
        result
    }

    pub fn insert(&self, key: K, value: V, until: u64, now: u64) {
        self.update(key, now, |slot| *slot = Some((value, until)));
    }

    pub fn remove<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.lock().remove(key);
    }

    pub fn remove_all(&self, is_meant: impl Fn(&K) -> bool) {
        self.lock().retain(|key, _| !is_meant(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (V, u64)>> {
        // Never contended: an isolate has one thread and holds no lock across an await.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{FOREVER, Map};

    #[test]
    fn a_value_is_there_until_it_expires() {
        let map = Map::<String, u8>::new(10);
        map.insert("a".to_owned(), 1, 100, 50);
        assert_eq!((map.get("a", 99), map.get("a", 100), map.get("b", 0)), (Some(1), None, None));
        let seen = map.update("a".to_owned(), 100, |slot| slot.take());
        assert_eq!(seen, None, "expired");
        map.insert("a".to_owned(), 2, FOREVER, 100);
        map.update("a".to_owned(), u64::MAX - 1, |slot| slot.as_mut().unwrap().0 = 3);
        assert_eq!(map.get("a", 0), Some(3));
        map.remove("a");
        assert_eq!(map.get("a", 0), None);
        for key in ["b", "c"] {
            map.insert(key.to_owned(), 4, FOREVER, 0);
        }
        map.remove_all(|key| key == "b");
        assert_eq!((map.get("b", 0), map.get("c", 0)), (None, Some(4)));
    }

    #[test]
    fn a_full_map_forgets_what_has_expired_and_otherwise_everything() {
        let map = Map::<u8, u8>::new(3);
        for (key, until) in [(1, 10), (2, 20), (3, 20)] {
            map.insert(key, key, until, 0);
        }
        map.insert(3, 4, 20, 10);
        assert_eq!(map.lock().len(), 3, "a known key takes no further place");
        map.insert(4, 4, 20, 10);
        assert_eq!((map.get(&1, 0), map.get(&2, 10), map.get(&4, 10)), (None, Some(2), Some(4)));
        map.insert(5, 5, 20, 10);
        assert_eq!(map.lock().len(), 1);
        assert_eq!(map.get(&5, 10), Some(5));
    }

    #[test]
    fn a_panic_of_one_request_leaves_the_map_to_the_others() {
        let map = Map::<u8, u8>::new(3);
        map.insert(1, 1, FOREVER, 0);
        let panics = || map.update(2, 0, |_| -> () { panic!("of one request") });
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(map.get(&1, 0), Some(1));
    }
}
