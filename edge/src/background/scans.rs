//! Scans (docs/scans.md): parts become sealed messages, messages become results, and what is left open after a
//! day is closed.

pub mod closing;
pub mod consumer;
pub mod message;
pub mod redelivery;
pub mod results;
mod round;
pub mod slots;

/// Positions of a part; only the last one of a scan has fewer.
pub const PART: u32 = 1_000;
/// Seconds that a scan may take. What is older waits no more, wherever it is.
pub const LIFETIME: u64 = 24 * 60 * 60;
