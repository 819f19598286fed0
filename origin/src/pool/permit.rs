//! The permit to hold one session with an operator; dropping it makes room for another.

use std::sync::{Arc, atomic::Ordering};

use tokio::{sync::oneshot, time::Instant};

use super::{MAX_IDLE, Pool, Refused, Signal, operator::Assigned};

/// A session to use, or leave to open one. The permit is the place it takes.
pub enum Acquired<S: Send + 'static> {
    Idle(S, Permit<S>),
    New(Permit<S>),
}

impl<S: Send + 'static> Acquired<S> {
    pub(super) fn into_warm(self) -> Option<(S, Permit<S>)> {
        match self {
            Self::Idle(session, permit) => Some((session, permit)),
            Self::New(_) => None,
        }
    }
}

/// The place of one session with an operator; dropping it makes room for another.
pub struct Permit<S: Send + 'static> {
    pool: Arc<Pool<S>>,
    operator: Arc<str>,
    host: Arc<str>,
    identity: usize,
    released: bool,
}

impl<S: Send + 'static> Permit<S> {
    pub(super) const fn new(
        pool: Arc<Pool<S>>,
        operator: Arc<str>,
        host: Arc<str>,
        identity: usize,
    ) -> Self {
        Self { pool, operator, host, identity, released: false }
    }

    /// Which of our names the session is, or is to be, opened under.
    pub const fn identity(&self) -> usize {
        self.identity
    }

    /// Takes note of how we were received.
    pub fn note(&self, signal: Signal) {
        let mut closed = Vec::new();
        if let Some(held) = self.pool.lock().get_mut(&self.operator) {
            held.note(self.identity, signal, &mut closed);
        }
        self.pool.close_all(closed);
    }

    /// Keeps the session for the next recipient.
    pub fn keep(mut self, session: S) {
        self.released = true;
        // Counted before it can be taken, and while it is closed: `close_all` counts back.
        let room = self.pool.idle.fetch_add(1, Ordering::Relaxed) < MAX_IDLE;
        let (kept, mut closed) =
            if room { (Some(session), Vec::new()) } else { (None, vec![session]) };
        let now = Instant::now();
        let awaited = match self.pool.lock().get_mut(&self.operator) {
            Some(held) => {
                closed.extend(held.release(&self.host, self.identity, kept, now));
                held.has_waiting()
            }
            None => {
                closed.extend(kept);
                false
            }
        };
        self.pool.close_all(closed);
        self.left(awaited);
    }

    /// There is room for those who wait, and perhaps something to tidy up.
    fn left(&self, awaited: bool) {
        if awaited {
            self.pool.pump(&self.operator);
        }
        self.pool.sweep_soon();
    }
}

impl<S: Send + 'static> Drop for Permit<S> {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        let awaited = self.pool.lock().get_mut(&self.operator).is_some_and(|held| {
            held.release(&self.host, self.identity, None, Instant::now());
            held.has_waiting()
        });
        self.left(awaited);
    }
}

/// One who waits; what was assigned to one who leaves is taken back.
pub(super) struct Queued<'a, S: Send + 'static> {
    pub answer: oneshot::Receiver<Result<Assigned<S>, Refused>>,
    pub pool: &'a Arc<Pool<S>>,
    pub operator: Arc<str>,
    pub host: &'a str,
}

impl<S: Send + 'static> Queued<'_, S> {
    pub(super) async fn wait(&mut self) -> Result<Assigned<S>, Refused> {
        let gone = Refused { after: std::time::Duration::ZERO, blocked: false };
        // The sender lives in the held, which is not forgotten while somebody waits.
        (&mut self.answer).await.unwrap_or(Err(gone))
    }
}

impl<S: Send + 'static> Drop for Queued<'_, S> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(assigned)) = self.answer.try_recv() {
            self.pool.take_back(&self.operator, self.host, assigned);
        }
    }
}
