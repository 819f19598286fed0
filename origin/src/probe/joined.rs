use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rcpt_shared::Verdict;
use tokio::sync::watch;

/// Identical questions that are being asked: the first one asks, the others wait for its verdict. As
/// many entries as there are probes in progress.
#[derive(Default)]
pub(super) struct Joined(Mutex<HashMap<Arc<str>, Audience>>);

/// Those who wait for the first one's verdict; hardly ever is there anybody, and nothing is set up
/// before there is.
type Audience = Option<watch::Sender<Option<Verdict>>>;

impl Joined {
    /// The verdict for `key`, from `ask` or from whoever asks it already.
    pub(super) async fn ask(&self, key: &str, ask: impl Future<Output = Verdict>) -> Verdict {
        loop {
            match self.join(key) {
                Ok(first) => {
                    let verdict = ask.await;
                    first.tell(&verdict);
                    return verdict;
                }
                Err(mut told) => {
                    if let Ok(told) = told.wait_for(Option::is_some).await
                        && let Some(verdict) = &*told
                    {
                        return verdict.clone();
                    }
                    // Its client has left, and it with it: the question is ours now, or another's.
                }
            }
        }
    }

    /// The first to ask, or what the first will tell.
    fn join(&self, key: &str) -> Result<First<'_>, watch::Receiver<Option<Verdict>>> {
        match self.lock().entry(Arc::from(key)) {
            Entry::Occupied(mut first) => {
                let audience = first.get_mut().get_or_insert_with(|| watch::Sender::new(None));
                Err(audience.subscribe())
            }
            Entry::Vacant(nobody) => {
                let key = nobody.key().clone();
                nobody.insert(None);
                Ok(First { joined: self, key, gone: false })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Audience>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room for the next question when it has been answered, or is not asked any more.
struct First<'a> {
    joined: &'a Joined,
    key: Arc<str>,
    /// The room it made may be another's by now.
    gone: bool,
}

impl First<'_> {
    fn tell(mut self, verdict: &Verdict) {
        if let Some(audience) = self.leave() {
            audience.send_replace(Some(verdict.clone()));
        }
    }

    fn leave(&mut self) -> Audience {
        if std::mem::replace(&mut self.gone, true) {
            return None;
        }
        self.joined.lock().remove(&self.key).flatten()
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        // Nobody told: the next of them asks.
        drop(self.leave());
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

    use rcpt_shared::{Reason, Stage, Status, Verdict};
    use tokio::{task::JoinSet, time::sleep};

    use super::Joined;

    async fn verdict(asked: &AtomicUsize) -> Verdict {
        asked.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_secs(1)).await;
        Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt)
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_identical_questions_are_asked_once() {
        let (joined, asked) = (Arc::new(Joined::default()), Arc::new(AtomicUsize::new(0)));
        let mut all = JoinSet::new();
        for _ in 0..100 {
            let (joined, asked) = (joined.clone(), asked.clone());
            all.spawn(async move { joined.ask("a@example.org", verdict(&asked)).await.status });
        }
        assert_eq!(all.join_all().await, [Status::Accepted; 100]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert!(joined.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_first_leaves_another_asks() {
        let (joined, asked) = (Arc::new(Joined::default()), Arc::new(AtomicUsize::new(0)));
        let ask = || {
            let (joined, asked) = (joined.clone(), asked.clone());
            async move { joined.ask("key", verdict(&asked)).await }
        };
        let first = tokio::spawn(ask());
        tokio::task::yield_now().await;
        let second = tokio::spawn(ask());
        tokio::task::yield_now().await;
        first.abort();
        assert_eq!(second.await.unwrap().status, Status::Accepted);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert!(joined.lock().is_empty());
    }
}
