//! Turns: tests that keep all cores busy don't run at the same time.

use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other test of this binary holds a turn. A test that sends hundreds of concurrent requests, or
/// measures, takes one: two of them together could be slower than the time limits on the way.
pub async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}
