//! The one place that reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix time in seconds, for the lifetime of tickets.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "native only; everything else takes `now` as an argument"
)]
pub fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Unix time in seconds with its fraction, to compare clocks.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "native only; everything else takes `now` as an argument"
)]
pub fn unix_now_exact() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
