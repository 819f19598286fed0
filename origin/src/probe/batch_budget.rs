//! The budget of one address of a list: it begins when the address has a session.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// The budget of an address of a list is looked at no more often.
const TICK: Duration = Duration::from_millis(100);

/// Runs the probe of one address of a list. Time `lost` to waiting and DNS doesn't count. It waits for a session until
/// the deadline, and has its whole budget once it has one.
pub(super) async fn within_own_budget<T>(
    mut work: impl Future<Output = T> + Unpin,
    budget: Duration,
    deadline: Instant,
    lost: impl Fn() -> Duration,
    is_waiting: impl Fn() -> bool,
) -> Option<T> {
    let started = Instant::now();
    let last = deadline + budget;
    loop {
        let mut end = (started + budget + lost()).max(Instant::now() + TICK).min(last);
        if is_waiting() {
            end = end.min(deadline.max(Instant::now() + TICK));
        }
        if let Ok(done) = timeout_at(end, &mut work).await {
            return Some(done);
        }
        let now = Instant::now();
        let used = started.elapsed().saturating_sub(lost());
        if used >= budget || now >= last || (now >= deadline && is_waiting()) {
            return None;
        }
    }
}
