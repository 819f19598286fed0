//! Turns: tests that keep all cores busy don't run at the same time.

use tokio::sync::{Mutex, MutexGuard};

/// Waits until no other test of this binary holds a turn. Tests that measure or send hundreds of concurrent requests
/// take a turn: two such tests at the same time could exceed time limits.
pub async fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::const_new(());
    TURN.lock().await
}
