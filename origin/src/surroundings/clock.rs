//! The only module that reads the wall clock; also converts durations for logs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the Unix time in seconds, for the lifetime of tickets.
#[expect(
    clippy::disallowed_methods,
    reason = "native only; everything else takes `now` as an argument"
)]
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns whole milliseconds.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
