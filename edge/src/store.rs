//! The SQL, one file per table family. Every function is one round trip to D1 unless it says
//! otherwise, and decides in the statement itself: what a statement read may be stale by the next.

pub mod accounts;
pub mod housekeeping;
pub mod ledger;
pub mod passwords;
pub mod throttle;
pub mod two_factor;
