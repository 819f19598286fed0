//! The scheduled clean-up: removes expired rows.

use constcat::concat;

use super::{expired_keys, guard, security_events};
use crate::{
    cf::{
        clock,
        database::{Database, Statement},
    },
    error::Error,
};

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;
/// Unconfirmed accounts are stored for a week: their links expired after a day.
const UNCONFIRMED: u64 = 7 * DAY;
/// Lifetime of a claim: a day longer than that of its account.
const CLAIMED: u64 = UNCONFIRMED + DAY;
/// Lifetime of a notice; sending is retried for about two weeks.
const NOTICES: u64 = 30 * DAY;
/// Lifetime of ended scans' results and of their notifications.
const RESULTS: u64 = 7 * DAY;

/// Limit per removal, so that none exceeds D1's limit of 30 s.
const MOST: &str = " LIMIT 1000)";

/// Rounds per statement: with a run every five minutes, enough for 160 new rows a second.
const ROUNDS: usize = 50;
const MOST_ROWS: usize = 1_000;
/// Milliseconds after which a run stops removing rows of one table.
const PATIENCE: u64 = 5_000;

// Reads all leases: few are alive, and an index would cost an additional row per check.
const LEASES: &str = concat!(
    "DELETE FROM leases WHERE (account_id, id) IN (
       SELECT account_id, id FROM leases WHERE expires_at <= ?1",
    MOST
);
const CLAIMS: &str = concat!(
    "DELETE FROM addresses WHERE address_hash IN (
       SELECT address_hash FROM addresses WHERE confirmed = 0 AND claimed_at <= ?1",
    MOST
);
const TOKENS: &str = concat!(
    "DELETE FROM mailed_tokens WHERE hash IN (
       SELECT hash FROM mailed_tokens
       WHERE expires_at <= ?1 AND coalesce(next_expires_at, 0) <= ?1",
    MOST
);
const THROTTLES: &str = concat!(
    "DELETE FROM throttles WHERE key IN (SELECT key FROM throttles WHERE drained_at <= ?1",
    MOST
);
const SESSIONS: &str = concat!(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= ?1",
    MOST
);
const CHALLENGES: &str = concat!(
    "DELETE FROM used_challenges WHERE hash IN (SELECT hash FROM used_challenges WHERE expires_at <= ?1",
    MOST
);
/// The directory may still have to follow an unsettled change.
const EMAIL_CHANGES: &str = concat!(
    "DELETE FROM email_changes WHERE id IN (
       SELECT id FROM email_changes WHERE expires_at <= ?1 AND settled = 1",
    MOST
);
const FORMER_CREDENTIALS: &str = concat!(
    "DELETE FROM former_credentials WHERE rowid IN (
       SELECT rowid FROM former_credentials WHERE expires_at <= ?1",
    MOST
);
const RESERVED: &str = concat!(
    "DELETE FROM addresses WHERE address_hash IN (
       SELECT address_hash FROM addresses WHERE reserved_until IS NOT NULL AND reserved_until <= ?1",
    MOST
);
const EVENTS: &str = concat!(
    "DELETE FROM security_events WHERE (account_id, class, kind, name) IN (
       SELECT account_id, class, kind, name FROM security_events WHERE at <= ?1",
    MOST
);
const STALE_NOTICES: &str = concat!(
    "DELETE FROM notices WHERE (account_id, kind) IN (
       SELECT account_id, kind FROM notices WHERE due_at <= ?1",
    MOST
);
/// `?1` first day to keep.
const GUARD_REFUSALS: &str = concat!(
    "DELETE FROM guard_refusals WHERE (account_id, day, reason) IN (
       SELECT account_id, day, reason FROM guard_refusals WHERE day < ?1",
    MOST
);
/// There are few rows: only emails that couldn't be sent within an hour.
const MAIL_DUE: &str = "DELETE FROM mail_due WHERE expires_at <= ?1";
const TOMBSTONES: &str = concat!(
    "DELETE FROM tombstones WHERE address_hash IN (
       SELECT address_hash FROM tombstones WHERE expires_at <= ?1",
    MOST
);
/// A scan of 100,000 positions has about five hundred rows of results, which are deleted with it.
const SCANS: &str = "DELETE FROM scans WHERE id IN (
    SELECT id FROM scans WHERE ended_at IS NOT NULL AND ended_at <= ?1 LIMIT 20)";
/// A delivery that its endpoint hasn't accepted within a day is abandoned.
const GIVEN_UP: &str = concat!(
    "UPDATE webhook_deliveries SET state = 'failed' WHERE (account_id, id) IN (
       SELECT account_id, id FROM webhook_deliveries WHERE state = 'pending' AND created_at <= ?1",
    MOST
);
const DELIVERIES: &str = concat!(
    "DELETE FROM webhook_deliveries WHERE (account_id, id) IN (
       SELECT account_id, id FROM webhook_deliveries WHERE created_at <= ?1",
    MOST
);
const STALE_ACCOUNTS: &str = concat!(
    "DELETE FROM accounts WHERE id IN (
       SELECT id FROM accounts WHERE state = 'unconfirmed' AND created_at <= ?1
         AND NOT EXISTS (SELECT 1 FROM mailed_tokens t WHERE t.account_id = accounts.id)",
    MOST
);

/// Removes rows that have expired at `now` (Unix seconds) from one database, with small independent
/// statements, so that one failure doesn't stop the others. Returns the failures with their tables.
pub async fn run(database: &Database, now: u64) -> Vec<(&'static str, Error)> {
    let mut failures = Vec::new();
    for (table, sql, until) in [
        ("leases", LEASES, now),
        ("mailed_tokens", TOKENS, now),
        ("throttles", THROTTLES, now),
        ("sessions", SESSIONS, now),
        ("tombstones", TOMBSTONES, now),
        ("mail_due", MAIL_DUE, now),
        ("email_changes", EMAIL_CHANGES, now),
        ("former_credentials", FORMER_CREDENTIALS, now),
        ("used_challenges", CHALLENGES, now),
        ("addresses", RESERVED, now),
        ("guard_refusals", GUARD_REFUSALS, guard::first_day(now)),
        ("security_events", EVENTS, now.saturating_sub(security_events::LISTED)),
        ("notices", STALE_NOTICES, now.saturating_sub(NOTICES)),
        ("scans", SCANS, now.saturating_sub(RESULTS)),
        ("webhook_deliveries", GIVEN_UP, now.saturating_sub(DAY)),
        ("webhook_deliveries", DELIVERIES, now.saturating_sub(RESULTS)),
        ("accounts", STALE_ACCOUNTS, now.saturating_sub(UNCONFIRMED)),
        ("addresses", CLAIMS, now.saturating_sub(CLAIMED)),
    ] {
        if let Err(error) = remove(database, (sql, vec![until.into()])).await {
            failures.push((table, error));
        }
    }
    if let Err(error) = expired_keys::remove(database, now).await {
        failures.push(("idempotency_keys", error));
    }
    failures
}

async fn remove(database: &Database, statement: Statement<'_>) -> Result<(), Error> {
    let begun = clock::now_ms();
    for _ in 0..ROUNDS {
        let rows = database.batch(std::slice::from_ref(&statement)).await?;
        if rows.changed(0) < MOST_ROWS || clock::now_ms().saturating_sub(begun) > PATIENCE {
            break;
        }
    }
    Ok(())
}

/// Succeeds if the database responds.
pub async fn ping(database: &Database) -> Result<(), Error> {
    database.run(("SELECT count(*) FROM plans", Vec::new())).await
}
