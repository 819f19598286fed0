//! Asks the holders of a session to close it because others are waiting.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// A request to all users of a session to close it: the check, and the control recipient after it.
#[derive(Default)]
pub(crate) struct Cut {
    is_due: AtomicBool,
    due: Notify,
}

impl Cut {
    pub(crate) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    pub(crate) fn set_due(&self) {
        self.is_due.store(true, Ordering::Release);
        self.due.notify_waiters();
    }

    /// Several users can wait for the same cut.
    pub(crate) async fn until_due(&self) {
        let due = self.due.notified();
        // A cut between this check and the wait isn't missed: the future is registered as a waiter
        // from its creation.
        if !self.is_due() {
            due.await;
        }
    }
}
