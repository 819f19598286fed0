use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use moka::sync::Cache;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{MAX_CACHED, NoAnswer};

/// Names and records remembered of one record type: 10,000 names with a handful each. Of 300 bytes each,
/// 15 MB; of 1 KB each, as a hostile domain could make them, 50 MB.
const MAX_WEIGHT: u64 = 50_000;

/// A question that nobody waits for any more is left this long to be answered, for whoever asks next: an
/// AAAA that was slower than the A. Each holds a socket.
const LINGER: Duration = Duration::from_millis(500);

pub(super) type Records<T> = Result<Arc<[T]>, NoAnswer>;

/// What came of a question, and how long it may be remembered; not at all if it is our failure.
pub(super) struct Answer<T> {
    pub records: Records<T>,
    pub until: Option<Instant>,
}

/// The answers about one record type: those that still hold, and those being asked for. However many
/// want one at the same time, it is asked for once.
pub(super) struct Answers<T>(Arc<Memory<T>>);

struct Memory<T> {
    /// Each with the time until which it holds.
    kept: Cache<Arc<str>, (Records<T>, Instant)>,
    /// As many as there are questions on their way.
    asked: Mutex<HashMap<Arc<str>, Tell<T>>>,
}

/// Tells the answer to a question on its way to all who wait for it.
type Tell<T> = watch::Sender<Option<Records<T>>>;

impl<T: Send + Sync + 'static> Default for Answers<T> {
    fn default() -> Self {
        let weight = |_: &Arc<str>, (records, _): &(Records<T>, Instant)| {
            let records = records.as_ref().map_or(0, |records| records.len());
            u32::try_from(records).unwrap_or(u32::MAX).saturating_add(1)
        };
        let kept = Cache::builder().weigher(weight).max_capacity(MAX_WEIGHT);
        let kept = kept.time_to_live(MAX_CACHED).build();
        Self(Arc::new(Memory { kept, asked: Mutex::default() }))
    }
}

impl<T: Send + Sync + 'static> Answers<T> {
    /// The answer about `name` (lower case): from memory, or by way of `ask`.
    ///
    /// The question is a task of its own: whoever asked first may leave, and the others have its answer
    /// all the same.
    pub(super) async fn about<A>(&self, name: &str, ask: impl FnOnce() -> A) -> Records<T>
    where
        A: Future<Output = Answer<T>> + Send + 'static,
    {
        let mut told = {
            if let Some(kept) = self.0.recall(name) {
                return kept;
            }
            let mut asked = self.0.lock();
            if let Some(tell) = asked.get(name) {
                tell.subscribe()
            } else {
                // It may have been answered since: an answer is kept before its question is forgotten.
                if let Some(kept) = self.0.recall(name) {
                    return kept;
                }
                let name: Arc<str> = Arc::from(name);
                let (tell, told) = watch::channel(None);
                asked.insert(name.clone(), tell.clone());
                let asked = Asked { memory: self.0.clone(), name, tell, forgotten: false };
                tokio::spawn(asked.answered(ask()));
                told
            }
        };
        let told = told.wait_for(Option::is_some).await;
        told.ok().and_then(|told| told.clone()).unwrap_or(Err(NoAnswer::Failed))
    }
}

impl<T: Send + Sync + 'static> Memory<T> {
    fn recall(&self, name: &str) -> Option<Records<T>> {
        let (records, until) = self.kept.get(name)?;
        (until > Instant::now()).then_some(records)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Tell<T>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question on its way; makes room for the next about the same name, whatever becomes of it.
struct Asked<T: Send + Sync + 'static> {
    memory: Arc<Memory<T>>,
    name: Arc<str>,
    tell: Tell<T>,
    /// Its room may be another's by now.
    forgotten: bool,
}

impl<T: Send + Sync + 'static> Asked<T> {
    async fn answered(mut self, answering: impl Future<Output = Answer<T>>) {
        let answer = tokio::select! {
            answer = answering => answer,
            () = self.abandoned() => return,
        };
        if let Some(until) = answer.until {
            self.memory.kept.insert(self.name.clone(), (answer.records.clone(), until));
        }
        self.tell.send_replace(Some(answer.records));
    }

    /// Returns when nobody has waited for a while, and nobody can join any more.
    async fn abandoned(&mut self) {
        while !self.forgotten {
            self.tell.closed().await;
            sleep(LINGER).await;
            let mut asked = self.memory.lock();
            // Under the lock nobody joins.
            if self.tell.receiver_count() == 0 {
                asked.remove(&self.name);
                self.forgotten = true;
            }
        }
    }
}

impl<T: Send + Sync + 'static> Drop for Asked<T> {
    fn drop(&mut self) {
        if !self.forgotten {
            self.memory.lock().remove(&self.name);
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

    /// Where a question takes a while to be answered.
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

        /// The answer holds for `ttl` seconds.
        async fn ask(&self, records: Result<u32, NoAnswer>, ttl: Option<u64>) -> Records<u32> {
            let asked = || {
                let (questions, while_asked) = (self.questions.clone(), self.while_asked);
                async move {
                    questions.fetch_add(1, Ordering::Relaxed);
                    sleep(while_asked).await;
                    let until = ttl.map(|ttl| Instant::now() + Duration::from_secs(ttl));
                    Answer { records: records.map(|one| Arc::from([one])), until }
                }
            };
            self.answers.about("example.org", asked).await
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
        assert!(world.answers.0.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_asked_first_may_leave() {
        let world = Arc::new(World::default());
        let left = timeout(Duration::from_millis(1), world.ask(Ok(7), Some(60))).await;
        assert!(left.is_err(), "it had its answer already");
        assert_eq!(world.ask(Ok(8), Some(60)).await.as_deref(), Ok(&[7][..]));
        assert_eq!(world.questions(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_nobody_waits_for_is_remembered_if_it_comes_soon() {
        for (milliseconds, questions) in [(400, 1), (5_000, 2)] {
            let world = World::answering_after(Duration::from_millis(milliseconds));
            let left = timeout(Duration::from_millis(50), world.ask(Ok(7), Some(60))).await;
            assert!(left.is_err(), "it had its answer already");
            sleep(Duration::from_secs(1)).await;
            assert!(world.answers.0.lock().is_empty(), "nobody waits, nothing is on its way");
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
                let told = world.ask(answer, Some(60)).await;
                assert_eq!(told, answer.map(|one| Arc::from([one])));
                assert_eq!(world.questions(), questions, "{answer:?} after {seconds}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_not_remembered() {
        let world = World::default();
        for questions in 1..=3 {
            let told = world.ask(Err(NoAnswer::Failed), None).await;
            assert_eq!((told, world.questions()), (Err(NoAnswer::Failed), questions));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_lost_is_our_failure_and_may_be_asked_again() {
        let answers: Answers<u32> = Answers::default();
        let lost = answers.about("example.org", || async { panic!("lost on purpose") }).await;
        assert_eq!(lost, Err(NoAnswer::Failed));
        assert!(answers.0.lock().is_empty());
    }
}
