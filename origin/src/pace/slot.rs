use std::sync::{Arc, atomic::Ordering};

use tokio::{sync::oneshot, time::Instant};

use super::{MAX_IDLE, Pace, Refused, Signal, lane::Granted};

/// A session to use, or leave to open one. The slot is the place it takes.
pub enum Grant<S: Send + 'static> {
    Warm(S, Slot<S>),
    Fresh(Slot<S>),
}

impl<S: Send + 'static> Grant<S> {
    pub(super) fn into_warm(self) -> Option<(S, Slot<S>)> {
        match self {
            Self::Warm(session, slot) => Some((session, slot)),
            Self::Fresh(_) => None,
        }
    }
}

/// The place of one session with an operator; dropping it makes room for another.
pub struct Slot<S: Send + 'static> {
    pace: Arc<Pace<S>>,
    operator: Arc<str>,
    host: Arc<str>,
    identity: usize,
    released: bool,
}

impl<S: Send + 'static> Slot<S> {
    pub(super) const fn new(
        pace: Arc<Pace<S>>,
        operator: Arc<str>,
        host: Arc<str>,
        identity: usize,
    ) -> Self {
        Self { pace, operator, host, identity, released: false }
    }

    /// Which of our names the session is, or is to be, opened under.
    #[must_use]
    pub const fn identity(&self) -> usize {
        self.identity
    }

    /// Takes note of how we were received.
    pub fn note(&self, signal: Signal) {
        let mut closed = Vec::new();
        if let Some(lane) = self.pace.lock().get_mut(&self.operator) {
            lane.note(self.identity, signal, &mut closed);
        }
        self.pace.close_all(closed);
    }

    /// Keeps the session for the next recipient.
    pub fn keep(mut self, session: S) {
        self.released = true;
        // Counted before it can be taken, and while it is closed: `close_all` counts back.
        let room = self.pace.idle.fetch_add(1, Ordering::Relaxed) < MAX_IDLE;
        let (kept, mut closed) =
            if room { (Some(session), Vec::new()) } else { (None, vec![session]) };
        let now = Instant::now();
        let awaited = match self.pace.lock().get_mut(&self.operator) {
            Some(lane) => {
                closed.extend(lane.release(&self.host, self.identity, kept, now));
                lane.has_waiting()
            }
            None => {
                closed.extend(kept);
                false
            }
        };
        self.pace.close_all(closed);
        self.left(awaited);
    }

    /// There is room for whoever waits, and perhaps something to tidy up.
    fn left(&self, awaited: bool) {
        if awaited {
            self.pace.pump(&self.operator);
        }
        self.pace.sweep_soon();
    }
}

impl<S: Send + 'static> Drop for Slot<S> {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        let awaited = self.pace.lock().get_mut(&self.operator).is_some_and(|lane| {
            lane.release(&self.host, self.identity, None, Instant::now());
            lane.has_waiting()
        });
        self.left(awaited);
    }
}

/// One who waits; what was granted to one who leaves is taken back.
pub(super) struct Queued<'a, S: Send + 'static> {
    pub answer: oneshot::Receiver<Result<Granted<S>, Refused>>,
    pub pace: &'a Arc<Pace<S>>,
    pub operator: Arc<str>,
    pub host: &'a str,
}

impl<S: Send + 'static> Queued<'_, S> {
    pub(super) async fn wait(&mut self) -> Result<Granted<S>, Refused> {
        let gone = Refused { after: std::time::Duration::ZERO, blocked: false };
        // The sender lives in the lane, which is not forgotten while somebody waits.
        (&mut self.answer).await.unwrap_or(Err(gone))
    }
}

impl<S: Send + 'static> Drop for Queued<'_, S> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(granted)) = self.answer.try_recv() {
            self.pace.take_back(&self.operator, self.host, granted);
        }
    }
}
