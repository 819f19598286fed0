//! Scans (docs/scans.md): parts become sealed messages, messages become results, and what is undecided after a day is
//! closed.

pub mod closing;
pub mod consumer;
pub mod events;
pub mod message;
pub mod redelivery;
pub mod results;
mod round;
pub mod scan;
pub mod scan_call;
pub mod scan_list;
pub mod scan_parts;
pub mod scan_results;
pub mod scans_sql;
pub mod slots;

/// Positions in a part; only the last part of a scan may have fewer.
pub const PART_POSITIONS: u32 = 1_000;
/// Lifetime of a scan in seconds. No address is stored for longer.
pub const LIFETIME_S: u64 = 24 * 60 * 60;
/// Seconds after which a scan ends of which nothing can be asked, because no origin can be reached or messages were
/// lost. A deployment takes minutes.
pub const STALLED_S: u64 = 2 * 60 * 60;
