//! The budget of one address in a batch: waiting for a session and DNS don't use it up.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Minimum time between two checks of an address's budget.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Time `lost` to waiting and DNS isn't counted. The probe waits for a session until the deadline, and then has its
/// whole budget.
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
        let mut end = (started + budget + lost()).max(Instant::now() + CHECK_INTERVAL).min(last);
        if is_waiting() {
            end = end.min(deadline.max(Instant::now() + CHECK_INTERVAL));
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
