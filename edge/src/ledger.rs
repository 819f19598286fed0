//! SQL statements, with one file per family of tables. An account's rows are in its own database, which each function
//! gets as an argument; `ledger/databases.rs` chooses it.
//!
//! Unless documented otherwise, each function makes one round trip to D1. Decisions are made within the statement,
//! because a value read by one may be outdated in the next. A function that acts for a session or another caller
//! answers `None` or `false` if it has ended or isn't authorised. Functions fail with
//! [`Error::unavailable`](crate::error::Error::unavailable) when the database fails; then nothing has changed, unless
//! only the response was lost.
//!
//! Times are Unix seconds, days count from 1970-01-01 in UTC, and 0 or an empty text stands for none.

pub mod account;
pub mod authorise;
pub mod charge;
pub mod code;
pub mod databases;
pub mod directory;
pub mod key_use;
pub mod notice_facts;
pub mod notices;
pub mod operator_actions;
pub mod own_key;
pub mod plans;
pub mod security_events;
pub mod tally;
pub mod usage_days;

/// `?1` hash of the token, `?2` now.
pub const BY_RESET_LINK: &str = "state = 'confirmed' AND id = (
     SELECT account_id FROM reset_links
     WHERE hash = ?1 AND expires_at > ?2 OR next_hash = ?1 AND next_expires_at > ?2)";

/// `?1` account, `?2` session.
pub const IN_SESSION: &str = "id = ?1 AND state = 'confirmed'
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = ?1)";
