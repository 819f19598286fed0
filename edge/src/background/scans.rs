//! Scans (docs/scans.md): parts become sealed messages, messages become results, and positions still open after a day
//! are closed.

pub mod closing;
pub mod consumer;
pub mod message;
pub mod redelivery;
pub mod results;
mod round;
pub mod slots;

/// Positions of a part; only the last one of a scan has fewer.
pub const PART: u32 = 1_000;
/// Lifetime of a scan in seconds. Nothing older waits anywhere.
pub const LIFETIME: u64 = 24 * 60 * 60;
