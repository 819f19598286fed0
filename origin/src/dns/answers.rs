//! The cache of one record type, and its running queries. Concurrent identical queries are merged: each is made once,
//! and all callers get its result.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::future::{FutureExt as _, Shared, WeakShared};
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use super::{MAX_CACHED, NoAnswer};

/// 10,000 names with a handful of records each. With 300 bytes each, the records take 15 MB; with 1 KB each, as a
/// hostile domain could make them, 50 MB.
const MAX_WEIGHT: u64 = 50_000;

/// Time for which an abandoned query continues for the next caller, such as an AAAA query slower than the A query. The
/// time is short because a query keeps a socket open.
const LINGER: Duration = Duration::from_millis(500);

pub(super) type Records<T> = Result<Arc<[T]>, NoAnswer>;

pub(super) struct Answer<T> {
    pub records: Records<T>,
    pub until: Option<Instant>,
}

/// Concurrent requests for an answer share one query.
pub(super) struct Answers<T: Send + Sync + 'static> {
    stored: Cache<Arc<str>, (Records<T>, Instant)>,
    queries: SingleFlight<Records<T>>,
}

impl<T: Send + Sync + 'static> Default for Answers<T> {
    fn default() -> Self {
        let weight = |_: &Arc<str>, (records, _): &(Records<T>, Instant)| {
            let records = records.as_ref().map_or(0, |records| records.len());
            u32::try_from(records).unwrap_or(u32::MAX).saturating_add(1)
        };
        let cache = Cache::builder().weigher(weight).max_capacity(MAX_WEIGHT);
        let cache = cache.time_to_live(MAX_CACHED).build();
        Self { stored: cache, queries: SingleFlight::default() }
    }
}

impl<T: Send + Sync + 'static> Answers<T> {
    pub(super) fn cached(&self, name: &str) -> Option<(Records<T>, Instant)> {
        fresh(&self.stored, name)
    }

    /// `name` is in lower case.
    pub(super) async fn about<A>(&self, name: &str, ask: impl FnOnce() -> A) -> Records<T>
    where
        A: Future<Output = Answer<T>> + Send + 'static,
    {
        if let Some((records, _)) = self.cached(name) {
            return records;
        }
        let flight = self.queries.join(name, || {
            let (stored, name, asking) = (self.stored.clone(), Arc::from(name), ask());
            async move {
                // The query may have finished meanwhile: its result is stored before the query is
                // removed.
                if let Some((records, _)) = fresh(&stored, &name) {
                    return records;
                }
                let Answer { records, until } = asking.await;
                if let Some(until) = until {
                    stored.insert(name, (records.clone(), until));
                }
                records
            }
        });
        Lingering(Some(flight)).await
    }
}

fn fresh<V: Clone + Send + Sync + 'static>(
    stored: &Cache<Arc<str>, (V, Instant)>,
    name: &str,
) -> Option<(V, Instant)> {
    stored.get(name).filter(|(_, until)| *until > Instant::now())
}

/// Future of a query's result. When the future is dropped, the query continues for a while.
struct Lingering<T: Send + Sync + 'static>(Option<Flight<Records<T>>>);

impl<T: Send + Sync + 'static> Future for Lingering<T> {
    type Output = Records<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(flight) = &mut self.0 else { return Poll::Ready(Err(NoAnswer::Failed)) };
        let records = ready!(Pin::new(flight).poll(cx));
        self.0 = None;
        Poll::Ready(records)
    }
}

impl<T: Send + Sync + 'static> Drop for Lingering<T> {
    fn drop(&mut self) {
        if let Some(flight) = self.0.take() {
            tokio::spawn(timeout(LINGER, flight));
        }
    }
}

type Asking<V> = Pin<Box<dyn Future<Output = V> + Send>>;

/// A query in progress. All waiting callers drive the query, so any of them may leave; the query is dropped with the
/// last one.
pub type Flight<V> = Shared<Asking<V>>;

pub struct SingleFlight<V: Clone>(Flights<V>);

type Flights<V> = Arc<Mutex<HashMap<Arc<str>, Entry<V>>>>;

struct Entry<V: Clone> {
    /// Distinguishes a query from the next one under the same key.
    number: usize,
    flight: WeakShared<Asking<V>>,
}

impl<V: Clone> Default for SingleFlight<V> {
    fn default() -> Self {
        Self(Arc::default())
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

struct Landing<V: Clone> {
    flights: Flights<V>,
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

    use tokio::{
        task::JoinSet,
        time::{Instant, advance, sleep, timeout},
    };

    use super::{Answer, Answers, NoAnswer, Records};

    struct World {
        answers: Answers<u32>,
        questions: Arc<AtomicUsize>,
        while_asked: Duration,
    }

    impl Default for World {
        fn default() -> Self {
            Self::answering_after(Duration::from_secs(1))
        }
    }

    impl World {
        fn answering_after(while_asked: Duration) -> Self {
            Self { answers: Answers::default(), questions: Arc::default(), while_asked }
        }

        /// `ttl` is in seconds; `None` if the records mustn't be cached.
        async fn ask(&self, records: Result<u32, NoAnswer>, ttl: Option<u64>) -> Records<u32> {
            let ask_upstream = || {
                let (questions, while_asked) = (self.questions.clone(), self.while_asked);
                async move {
                    questions.fetch_add(1, Ordering::Relaxed);
                    sleep(while_asked).await;
                    let until = ttl.map(|ttl| Instant::now() + Duration::from_secs(ttl));
                    Answer { records: records.map(|one| Arc::from([one])), until }
                }
            };
            self.answers.about("example.org", ask_upstream).await
        }

        fn questions(&self) -> usize {
            self.questions.load(Ordering::Relaxed)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_who_want_to_know_the_same_ask_once() {
        let world = Arc::new(World::default());
        let mut all = JoinSet::new();
        for _ in 0..100 {
            let world = world.clone();
            all.spawn(async move { world.ask(Ok(7), Some(60)).await });
        }
        for told in all.join_all().await {
            assert_eq!(told.as_deref(), Ok(&[7][..]));
        }
        assert_eq!(world.questions(), 1);
        assert!(world.answers.queries.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_to_ask_may_leave() {
        let world = Arc::new(World::default());
        let outcome = timeout(Duration::from_millis(1), world.ask(Ok(7), Some(60))).await;
        assert!(outcome.is_err(), "it had its answer already");
        assert_eq!(world.ask(Ok(8), Some(60)).await.as_deref(), Ok(&[7][..]));
        assert_eq!(world.questions(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_all_have_left_is_remembered_if_it_comes_soon() {
        for (milliseconds, questions) in [(400, 1), (5_000, 2)] {
            let world = World::answering_after(Duration::from_millis(milliseconds));
            let outcome = timeout(Duration::from_millis(50), world.ask(Ok(7), Some(60))).await;
            assert!(outcome.is_err(), "it had its answer already");
            sleep(Duration::from_secs(1)).await;
            assert!(world.answers.queries.is_empty(), "nothing is on its way");
            assert_eq!(world.ask(Ok(7), Some(60)).await.as_deref(), Ok(&[7][..]));
            assert_eq!(world.questions(), questions, "{milliseconds}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_remembered_as_long_as_it_holds_and_an_absence_too() {
        for answer in [Ok(7), Err(NoAnswer::NoSuchName), Err(NoAnswer::NoRecords)] {
            let world = World::default();
            for (seconds, questions) in [(0, 1), (59, 1), (1, 2), (59, 2)] {
                advance(Duration::from_secs(seconds)).await;
                let first_answer = world.ask(answer, Some(60)).await;
                assert_eq!(first_answer, answer.map(|one| Arc::from([one])));
                assert_eq!(world.questions(), questions, "{answer:?} after {seconds}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_not_remembered() {
        let world = World::default();
        for questions in 1..=3 {
            let answer = world.ask(Err(NoAnswer::Failed), None).await;
            assert_eq!((answer, world.questions()), (Err(NoAnswer::Failed), questions));
        }
    }

    mod flights {
        use std::{
            sync::{
                Arc,
                atomic::{AtomicUsize, Ordering},
            },
            time::Duration,
        };

        use tokio::{task::JoinSet, time::sleep};

        use super::super::{Flight, SingleFlight};

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
}
