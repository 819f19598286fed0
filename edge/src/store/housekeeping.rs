//! What the scheduled handler removes.

use crate::{cf::database::Database, error::Error};

/// Unconfirmed accounts are kept for a week, in seconds: their links died after a day.
const UNCONFIRMED_TTL: u64 = 7 * 24 * 60 * 60;

const EXPIRED_LEASES: &str = "DELETE FROM leases WHERE expires_at <= ?1";
const EXPIRED_TOKENS: &str = "DELETE FROM mailed_tokens WHERE expires_at <= ?1";
const IDLE_THROTTLES: &str = "DELETE FROM throttles WHERE expires_at <= ?1";
const STALE_ACCOUNTS: &str = "DELETE FROM accounts WHERE state = 'unconfirmed' AND created_at <= ?1
    AND id NOT IN (SELECT account_id FROM mailed_tokens)";

/// Removes what has expired by `now` (unix seconds). None of it counted any more.
///
/// # Errors
/// [`Error::unavailable`] when the database fails; the next run removes it.
pub async fn run(database: &Database, now: u64) -> Result<(), Error> {
    database
        .batch(&[
            (EXPIRED_LEASES, vec![now.into()]),
            (EXPIRED_TOKENS, vec![now.into()]),
            (IDLE_THROTTLES, vec![now.into()]),
            (STALE_ACCOUNTS, vec![now.saturating_sub(UNCONFIRMED_TTL).into()]),
        ])
        .await
        .map(drop)
}

/// Answers if the database does.
///
/// # Errors
/// [`Error::unavailable`] when it does not.
pub async fn ping(database: &Database) -> Result<(), Error> {
    database.run(("SELECT count(*) FROM plans", Vec::new())).await
}
