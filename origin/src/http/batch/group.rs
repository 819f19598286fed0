//! A batch's addresses with the same limits.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use parking_lot::{Mutex, MutexGuard};
use rcpt_shared::Address;
use tokio::sync::Semaphore;

/// Lines that are answered at least in a window of ten minutes: as many as a machine may refuse to one group's lists.
const ANSWERED_MIN: u32 = 6;

pub(super) struct Group {
    waiting: Mutex<VecDeque<(usize, Address)>>,
    pub at_once: Semaphore,
    answered: AtomicU32,
    /// Number of lines for which our limits left no room.
    turned_away: AtomicU32,
}

impl Group {
    pub(super) fn new(at_once: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            at_once: Semaphore::new(at_once.max(1)),
            answered: AtomicU32::new(0),
            turned_away: AtomicU32::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<(usize, Address)>> {
        self.waiting.lock()
    }

    pub(super) fn count(&self, is_answered: bool) {
        self.answered.fetch_add(u32::from(is_answered), Relaxed);
    }

    /// Seconds until the turn of the next line that is turned away for `after`, if as many are answered each time as
    /// in this batch. The first line's is `after` itself, so that the client comes back when there is room.
    pub(super) fn turn(&self, after: u32) -> u32 {
        let before = self.turned_away.fetch_add(1, Relaxed);
        let windows = before / self.answered.load(Relaxed).max(ANSWERED_MIN);
        after.saturating_mul(windows.saturating_add(1))
    }
}
