//! Turns: tests that keep every core busy do not run at the same time.

use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other test of this binary holds a turn. A test that sends hundreds of requests at once, or
/// measures, takes one: two of them together could be slower than the time-outs on the way.
pub async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}
