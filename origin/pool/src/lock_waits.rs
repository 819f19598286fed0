//! Counts how often, and for how long, callers wait for a lock.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct LockWaits {
    count: AtomicU64,
    nanoseconds: AtomicU64,
}

impl LockWaits {
    /// The clock is only read if another thread holds the lock.
    pub(super) fn lock<'m, T>(&self, mutex: &'m Mutex<T>) -> MutexGuard<'m, T> {
        if let Some(guard) = mutex.try_lock() {
            return guard;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let began = Instant::now();
        let guard = mutex.lock();
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        guard
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(super) fn microseconds(&self) -> u64 {
        self.nanoseconds.load(Ordering::Relaxed) / 1_000
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::LockWaits;

    #[test]
    fn a_wait_is_counted_and_a_free_lock_is_not() {
        let (waits, mutex) = (LockWaits::default(), Mutex::new(0));
        *waits.lock(&mutex) += 1;
        assert_eq!((waits.count(), waits.microseconds()), (0, 0));
        std::thread::scope(|scope| {
            let held = waits.lock(&mutex);
            let waiting = scope.spawn(|| *waits.lock(&mutex) += 1);
            while waits.count() == 0 {
                std::thread::yield_now();
            }
            drop(held);
            waiting.join().unwrap();
        });
        assert_eq!((waits.count(), *waits.lock(&mutex)), (1, 2));
    }
}
