//! The scheduled clean-up: removes expired rows.

use constcat::concat;

use crate::{
    accounts::changes_sql,
    cf::{
        clock,
        database::{Database, Statement},
    },
    checks::guard_sql,
    error::Error,
    keys::expired_sql,
    ledger::security_events,
};
use serde::Deserialize;

const MINUTE_S: u64 = 60;
const DAY_S: u64 = 24 * 60 * MINUTE_S;
const ALLOWED_S: u64 = 30 * DAY_S;
/// Sending is retried for about two weeks.
const NOTICE_TTL_S: u64 = 30 * DAY_S;
/// Ended scans, their results and their notifications.
const RESULTS_TTL_S: u64 = 7 * DAY_S;

/// Limit per removal, so that none exceeds D1's limit of 30 s.
const LIMIT_ROWS: &str = " LIMIT 1000)";

/// Repeats of a statement per run: every five minutes, enough for 160 new rows a second.
const ROUNDS_MAX: usize = 50;
const ROWS_MAX: usize = 1_000;
const PATIENCE_MS: u64 = 5_000;

// Reads all leases: few are alive, and an index would cost an additional row per check.
const DELETE_LEASES: &str = concat!(
    "DELETE FROM leases WHERE (account_id, id) IN (
       SELECT account_id, id FROM leases WHERE expires_at <= ?1",
    LIMIT_ROWS
);
/// An entered registration becomes an account.
const DELETE_REGISTRATIONS: &str = concat!(
    "DELETE FROM registrations WHERE address IN (
       SELECT address FROM registrations WHERE expires_at <= ?1 AND is_entered = 0",
    LIMIT_ROWS
);
/// There are few: of addresses that were never registered.
const DELETE_ALLOWED: &str = "DELETE FROM allowed_addresses WHERE allowed_at <= ?1";
const DELETE_LINKS: &str = concat!(
    "DELETE FROM reset_links WHERE hash IN (
       SELECT hash FROM reset_links
       WHERE expires_at <= ?1 AND coalesce(next_expires_at, 0) <= ?1",
    LIMIT_ROWS
);
const DELETE_THROTTLES: &str = concat!(
    "DELETE FROM throttles WHERE key IN (SELECT key FROM throttles WHERE drained_at <= ?1",
    LIMIT_ROWS
);
const DELETE_SESSIONS: &str = concat!(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= ?1",
    LIMIT_ROWS
);
/// Long closed. Whether a second factor that is off had counted is read from when it was turned on.
const DELETE_CHANGES: &str = concat!(
    "DELETE FROM changes WHERE (account_id, about) IN (
       SELECT c.account_id, c.about FROM changes c WHERE c.since <= ?1 AND NOT EXISTS (SELECT 1 FROM second_factors f
         WHERE f.account_id = c.account_id AND c.about = 'on ' || f.id AND f.off_at IS NOT NULL)",
    LIMIT_ROWS
);
/// A factor that is off stays as long as that can be taken back.
const DELETE_FACTORS: &str = concat!(
    "DELETE FROM second_factors WHERE (account_id, id) IN (
       SELECT f.account_id, f.id FROM second_factors f WHERE f.off_at <= ?1 AND NOT EXISTS (
         SELECT 1 FROM changes c WHERE c.account_id = f.account_id AND c.about = 'off ' || f.id
           AND c.since > unixepoch() - 3 * 86400)",
    LIMIT_ROWS
);
const DELETE_ASKED: &str = concat!(
    "DELETE FROM waiting WHERE id IN (SELECT id FROM waiting WHERE state = 'asked' AND expires_at <= ?1",
    LIMIT_ROWS
);
const DELETE_EVENTS: &str = concat!(
    "DELETE FROM security_events WHERE (account_id, class, kind, name) IN (
       SELECT account_id, class, kind, name FROM security_events WHERE at <= ?1",
    LIMIT_ROWS
);
const DELETE_STALE_NOTICES: &str = concat!(
    "DELETE FROM notices WHERE (account_id, kind) IN (
       SELECT account_id, kind FROM notices WHERE due_at <= ?1",
    LIMIT_ROWS
);
const DELETE_GUARD_REFUSALS: &str = concat!(
    "DELETE FROM guard_refusals WHERE (account_id, day, reason) IN (
       SELECT account_id, day, reason FROM guard_refusals WHERE day < ?1",
    LIMIT_ROWS
);
/// There are few rows: only emails that couldn't be sent within an hour.
const DELETE_MAIL_DUE: &str = "DELETE FROM mail_due WHERE expires_at <= ?1";
/// A scan of 100,000 positions has about five hundred rows of results, which are deleted with it.
const DELETE_SCANS: &str = "DELETE FROM scans WHERE id IN (
    SELECT id FROM scans WHERE ended_at IS NOT NULL AND ended_at <= ?1 LIMIT 20)";
/// A delivery that its endpoint hasn't accepted within a day is abandoned.
const UPDATE_ABANDONED_DELIVERIES: &str = concat!(
    "UPDATE webhook_deliveries SET state = 'failed' WHERE (account_id, id) IN (
       SELECT account_id, id FROM webhook_deliveries WHERE state = 'pending' AND created_at <= ?1",
    LIMIT_ROWS
);
const DELETE_DELIVERIES: &str = concat!(
    "DELETE FROM webhook_deliveries WHERE (account_id, id) IN (
       SELECT account_id, id FROM webhook_deliveries WHERE created_at <= ?1",
    LIMIT_ROWS
);
/// Removes rows that have expired at `now` (Unix seconds) from one database, with small independent
/// statements, so that one failure doesn't stop the others. Returns the failures with their tables.
pub async fn run(database: &Database, now: u64) -> Vec<(&'static str, Error)> {
    let mut failures = Vec::new();
    for (table, sql, until) in [
        ("leases", DELETE_LEASES, now),
        ("registrations", DELETE_REGISTRATIONS, now),
        ("allowed_addresses", DELETE_ALLOWED, now.saturating_sub(ALLOWED_S)),
        ("reset_links", DELETE_LINKS, now),
        ("throttles", DELETE_THROTTLES, now),
        ("sessions", DELETE_SESSIONS, now),
        ("mail_due", DELETE_MAIL_DUE, now),
        ("changes", DELETE_CHANGES, now.saturating_sub(NOTICE_TTL_S)),
        ("second_factors", DELETE_FACTORS, now.saturating_sub(changes_sql::OPEN_S)),
        ("waiting", DELETE_ASKED, now),
        ("guard_refusals", DELETE_GUARD_REFUSALS, guard_sql::first_day(now)),
        ("security_events", DELETE_EVENTS, now.saturating_sub(security_events::LISTED_S)),
        ("notices", DELETE_STALE_NOTICES, now.saturating_sub(NOTICE_TTL_S)),
        ("scans", DELETE_SCANS, now.saturating_sub(RESULTS_TTL_S)),
        ("webhook_deliveries", UPDATE_ABANDONED_DELIVERIES, now.saturating_sub(DAY_S)),
        ("webhook_deliveries", DELETE_DELIVERIES, now.saturating_sub(RESULTS_TTL_S)),
    ] {
        if let Err(error) = remove(database, (sql, vec![until.into()])).await {
            failures.push((table, error));
        }
    }
    if let Err(error) = expired_sql::remove(database, now).await {
        failures.push(("idempotency_keys", error));
    }
    failures
}

async fn remove(database: &Database, statement: Statement<'_>) -> Result<(), Error> {
    let begun = clock::now_ms();
    for _ in 0..ROUNDS_MAX {
        let rows = database.batch(std::slice::from_ref(&statement)).await?;
        if rows.changed(0) < ROWS_MAX || clock::now_ms().saturating_sub(begun) > PATIENCE_MS {
            break;
        }
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
pub struct LastRun {
    pub ran_at: u64,
    pub emails_waiting: u32,
    pub scans_waiting: u32,
}

const SELECT_LAST_RUN: &str = "SELECT ran_at, emails_waiting, scans_waiting,
    (SELECT count(*) FROM plans) AS plans FROM this_database";

pub async fn last_run(database: &Database) -> Result<LastRun, Error> {
    let row = database.first((SELECT_LAST_RUN, Vec::new())).await?;
    row.ok_or_else(|| Error::unavailable("database: it has no number"))
}

/// A mailbox that refuses an email keeps it waiting for two weeks.
const UPDATE_LAST_RUN: &str = "UPDATE this_database SET ran_at = unixepoch(),
    emails_waiting = (SELECT count(*) FROM notices WHERE deeds > told AND attempts BETWEEN 1 AND 12
      AND happened_at <= unixepoch() - 900),
    scans_waiting = (SELECT count(*) FROM scans s WHERE s.ended_at IS NULL AND EXISTS (
      SELECT 1 FROM scan_retries r WHERE r.scan_id = s.id AND r.due_at <= unixepoch() - 900))";

pub async fn record_run(database: &Database) -> Result<(), Error> {
    database.run((UPDATE_LAST_RUN, Vec::new())).await
}
