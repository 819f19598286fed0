//! Parts of the memory that survives a restart, and clocks for converting its times.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Key;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RateMemory {
    pub level: u32,
    /// The domain that caused the last lowering.
    pub domain: Key,
    pub lowered_since: u64,
    pub floor_since: Option<u64>,
}

/// Counts of an hour's slices, the current slice first.
pub(super) type HourMemory = [u32; 12];

/// Converts between the pool's clock and Unix seconds.
#[derive(Clone, Copy)]
pub(super) struct Clocks {
    pub now: Instant,
    pub unix_now: u64,
}

impl Clocks {
    pub(super) fn unix(&self, at: Instant) -> u64 {
        self.unix_now.saturating_sub(self.now.saturating_duration_since(at).as_secs())
    }

    /// The result is now if the clock can't represent the past time.
    pub(super) fn instant(&self, unix: u64) -> Instant {
        let age = Duration::from_secs(self.unix_now.saturating_sub(unix));
        self.now.checked_sub(age).unwrap_or(self.now)
    }
}
