use std::time::{SystemTime, UNIX_EPOCH};

/// Unix seconds.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "native only, and the one place that reads the clock"
)]
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
