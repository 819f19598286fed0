//! Parts of a memory that outlives a restart, and the clocks for reading it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Key;

/// A lowered rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RateMemory {
    pub level: u32,
    /// The domain that lowered it last.
    pub domain: Key,
    pub lowered_since: u64,
    pub floor_since: Option<u64>,
}

/// Counts of an hour's slices, the current one first.
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

    /// The instant of a Unix time that has passed; one that the clock can't show is now.
    pub(super) fn instant(&self, unix: u64) -> Instant {
        let age = Duration::from_secs(self.unix_now.saturating_sub(unix));
        self.now.checked_sub(age).unwrap_or(self.now)
    }
}
