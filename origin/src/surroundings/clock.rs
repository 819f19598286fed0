//! The only module that reads the wall clock; also converts durations to milliseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The Unix time in seconds; 0 if the clock shows a time before 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "native only; everything else takes `now` as an argument"
)]
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// At most `u64::MAX`.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
