use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rcpt_shared::Verdict;
use tokio::sync::watch;

/// Identical questions that are being asked: the first one asks, the others wait for its verdict. As
/// many entries as there are probes in progress.
#[derive(Default)]
pub(super) struct Joined(Mutex<HashMap<String, watch::Receiver<Option<Verdict>>>>);

impl Joined {
    /// The verdict for `key`, from `ask` or from whoever asks it already.
    pub(super) async fn ask(&self, key: String, ask: impl Future<Output = Verdict>) -> Verdict {
        loop {
            match self.join(&key) {
                Ok(first) => {
                    let verdict = ask.await;
                    first.tell(&verdict);
                    return verdict;
                }
                Err(mut other) => {
                    if let Ok(told) = other.wait_for(Option::is_some).await
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
        let mut asked = self.lock();
        if let Some(other) = asked.get(key) {
            return Err(other.clone());
        }
        let (tell, told) = watch::channel(None);
        asked.insert(key.to_owned(), told);
        Ok(First { joined: self, key: key.to_owned(), tell })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Receiver<Option<Verdict>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room for the next question when it has been answered, or is not asked any more.
struct First<'a> {
    joined: &'a Joined,
    key: String,
    tell: watch::Sender<Option<Verdict>>,
}

impl First<'_> {
    fn tell(self, verdict: &Verdict) {
        if self.tell.receiver_count() > 1 {
            self.tell.send_replace(Some(verdict.clone()));
        }
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.joined.lock().remove(&self.key);
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
            all.spawn(async move {
                joined.ask("a@example.org".to_owned(), verdict(&asked)).await.status
            });
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
            async move { joined.ask("key".to_owned(), verdict(&asked)).await }
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
