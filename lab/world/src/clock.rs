//! The simulated time: it begins at midnight, and runs as fast as the machine allows.

use std::time::Duration;

use tokio::time::Instant;

/// Unix time of the start: 2026-11-23 00:00 UTC, a Monday.
pub const BEGINNING: u64 = 1_795_392_000;
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);
pub const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A clock that counts from its creation.
#[derive(Clone, Copy)]
pub struct WorldClock(Instant);

impl WorldClock {
    /// Starts the clock; the runtime's time must be paused.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub fn now(self) -> Duration {
        self.0.elapsed()
    }

    pub fn unix_now(self) -> u64 {
        BEGINNING + self.now().as_secs()
    }

    /// The hour of the day, with its fraction.
    pub fn hour(self) -> f64 {
        self.now().as_secs_f64() / 3_600.0 % 24.0
    }
}
