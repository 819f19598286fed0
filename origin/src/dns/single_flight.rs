//! Merges concurrent identical queries: each is made once, and all callers get its result.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::future::{FutureExt as _, Shared, WeakShared};
use parking_lot::{Mutex, MutexGuard};

type Asking<V> = Pin<Box<dyn Future<Output = V> + Send>>;

/// A query in progress. All waiting callers drive the query, so any of them may leave; the query is dropped with the
/// last one.
pub type Flight<V> = Shared<Asking<V>>;

pub struct SingleFlight<V: Clone>(Arc<Flights<V>>);

struct Flights<V: Clone>(Mutex<HashMap<Arc<str>, Entry<V>>>);

struct Entry<V: Clone> {
    /// Distinguishes a query from the next one under the same key.
    number: usize,
    flight: WeakShared<Asking<V>>,
}

impl<V: Clone> Default for SingleFlight<V> {
    fn default() -> Self {
        Self(Arc::new(Flights(Mutex::default())))
    }
}

impl<V: Clone + Send + Sync + 'static> SingleFlight<V> {
    /// The query in progress for `key`, or a new one. `ask` must only create the future: it is called under the lock.
    pub fn join<F>(&self, key: &str, ask: impl FnOnce() -> F) -> Flight<V>
    where
        F: Future<Output = V> + Send + 'static,
    {
        static NUMBERS: AtomicUsize = AtomicUsize::new(0);
        let mut flights = self.0.lock();
        if let Some(flight) = flights.get(key).and_then(|entry| entry.flight.upgrade()) {
            return flight;
        }
        let key: Arc<str> = Arc::from(key);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let landing = Landing { flights: self.0.clone(), key: key.clone(), number };
        // Not an async block, which would hold the query's state twice.
        let asking: Asking<V> = Box::pin(ask().map(move |answer| {
            drop(landing);
            answer
        }));
        let shared = asking.shared();
        if let Some(flight) = shared.downgrade() {
            flights.insert(key, Entry { number, flight });
        }
        shared
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl<V: Clone> Flights<V> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Entry<V>>> {
        self.0.lock()
    }
}

struct Landing<V: Clone> {
    flights: Arc<Flights<V>>,
    key: Arc<str>,
    number: usize,
}

impl<V: Clone> Drop for Landing<V> {
    fn drop(&mut self) {
        let mut flights = self.flights.lock();
        let removed = flights.remove(&self.key);
        // The entry may belong to a later query, started after all callers had left this query.
        if let Some(later) = removed.filter(|entry| entry.number != self.number) {
            flights.insert(self.key.clone(), later);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use tokio::{task::JoinSet, time::sleep};

    use super::{Flight, SingleFlight};

    #[derive(Default)]
    struct World {
        flights: SingleFlight<u32>,
        queries_made: Arc<AtomicUsize>,
    }

    impl World {
        fn join(&self) -> Flight<u32> {
            let queries_made = self.queries_made.clone();
            self.flights.join("a@example.org", || async move {
                queries_made.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
                7
            })
        }

        fn queries_made(&self) -> usize {
            self.queries_made.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_identical_questions_are_asked_once() {
        let world = World::default();
        let mut all = JoinSet::new();
        for _ in 0..100 {
            all.spawn(world.join());
        }
        assert_eq!(all.join_all().await, [7; 100]);
        assert_eq!(world.queries_made(), 1);
        assert!(world.flights.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_first_leaves_the_others_have_its_answer() {
        let world = World::default();
        let first = tokio::spawn(world.join());
        tokio::task::yield_now().await;
        let second = tokio::spawn(world.join());
        tokio::task::yield_now().await;
        first.abort();
        assert_eq!(second.await.unwrap(), 7);
        assert_eq!(world.queries_made(), 1);
        assert!(world.flights.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_leave_it_is_asked_no_more_and_may_be_asked_again() {
        let world = World::default();
        let last_caller = tokio::spawn(world.join());
        tokio::task::yield_now().await;
        last_caller.abort();
        assert!(last_caller.await.is_err());
        assert!(world.flights.is_empty());
        assert_eq!(world.join().await, 7);
        assert_eq!(world.queries_made(), 2);
    }
}
