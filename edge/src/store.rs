//! The SQL, one file per table family. What belongs to an account is in the account's own database, which
//! a function is given; `databases.rs` knows which. Every function is one round trip to D1 unless it says otherwise,
//! and decides in the statement itself: what a statement read may be stale by the next. The errors of
//! all of them are [`Error::unavailable`](crate::error::Error::unavailable), when the database fails;
//! then nothing has changed.

pub mod accounts;
pub mod addresses;
pub mod databases;
pub mod housekeeping;
pub mod ledger;
pub mod mailed_tokens;
pub mod notices;
pub mod passwords;
pub mod refusals;
pub mod registrations;
pub mod rekeying;
pub mod scans;
pub mod sessions;
pub mod throttle;
pub mod two_factor;
pub mod usage_days;
pub mod webhooks;

/// Authorises by session: `?1` account, `?2` session.
const IN_SESSION: &str = "id = ?1 AND state = 'confirmed'
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = ?1)";
