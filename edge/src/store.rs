//! SQL statements, with one file per family of tables. An account's rows are in its own database, which each function
//! gets as an argument; `databases.rs` chooses it.
//!
//! Unless documented otherwise, each function makes one round trip to D1. Decisions are made within the statement,
//! because a value read by one may be outdated in the next. A function that acts for a session or another caller
//! answers `None` or `false` if it has ended or isn't authorised. Functions fail with
//! [`Error::unavailable`](crate::error::Error::unavailable) when the database fails; then nothing has changed, unless
//! only the response was lost.
//!
//! Times are Unix seconds, days count from 1970-01-01 in UTC, and 0 or an empty text stands for none.

pub mod accounts;
pub mod changes;
pub mod databases;
pub mod deleted_accounts;
pub mod directory;
pub mod email_changes;
pub mod ended_keys;
pub mod expired_keys;
pub mod guard;
pub mod housekeeping;
pub mod keys;
pub mod ledger;
pub mod mail_due;
pub mod notices;
pub mod operator_actions;
pub mod opt_outs;
pub mod passkeys;
pub mod passwords;
pub mod plans;
pub mod recoveries;
pub mod registrations;
pub mod rekeying;
pub mod reset_codes;
pub mod reset_links;
pub mod resets;
pub mod scans;
pub mod security_events;
pub mod sessions;
pub mod stops;
pub mod two_factor;
pub mod usage_days;
pub mod webhooks;

/// `?1` hash of the token, `?2` now.
const BY_RESET_LINK: &str = "state = 'confirmed' AND id = (
     SELECT account_id FROM reset_links
     WHERE hash = ?1 AND expires_at > ?2 OR next_hash = ?1 AND next_expires_at > ?2)";

/// `?1` account, `?2` session.
const IN_SESSION: &str = "id = ?1 AND state = 'confirmed'
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = ?2 AND s.account_id = ?1)";
