//! The word to the holders of a session that others wait for it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Tells everybody who uses a session to close it: the question, and the control recipient behind it.
#[derive(Default)]
pub(super) struct Cut {
    is_due: AtomicBool,
    is_counted: AtomicBool,
    due: Notify,
}

impl Cut {
    pub(super) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    pub(super) fn set_due(&self) {
        self.is_due.store(true, Ordering::Release);
        self.due.notify_waiters();
    }

    /// Completes once the session is to be closed, for each who waits for it.
    pub(super) async fn until_due(&self) {
        let due = self.due.notified();
        // A cut between the two is not missed: the future is a waiter from its creation on.
        if !self.is_due() {
            due.await;
        }
    }

    /// Returns true once.
    pub(super) fn is_first_to_count(&self) -> bool {
        !self.is_counted.swap(true, Ordering::Relaxed)
    }
}
