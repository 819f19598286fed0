//! Removes the rows of deleted accounts, a few at a time: an account can have a million, and D1 rolls back transactions
//! that take more than 30 seconds.

use crate::{
    cf::{
        clock,
        database::{Database, Statement},
    },
    error::Error,
};

/// Maximum number of steps per run: 75,000 small rows or 7,500 blocks of results, in 135 statements.
const STEPS_MAX: usize = 15;
const PATIENCE_MS: u64 = 10_000;

// The order of the joins is fixed, so that the index of the few deleted accounts is read first. An account's few
// hundred rows in other tables go with its own (ON DELETE CASCADE).

/// A row has up to 25 KB.
const DELETE_RESULTS: &str = "DELETE FROM scan_results WHERE (scan_id, part, slot, round) IN (
    SELECT r.scan_id, r.part, r.slot, r.round
    FROM accounts a CROSS JOIN scans s ON s.account_id = a.id CROSS JOIN scan_results r ON r.scan_id = s.id
    WHERE a.deleted_at IS NOT NULL LIMIT 500)";
const DELETE_PARTS: &str = "DELETE FROM scan_parts WHERE (scan_id, part) IN (
    SELECT p.scan_id, p.part
    FROM accounts a CROSS JOIN scans s ON s.account_id = a.id CROSS JOIN scan_parts p ON p.scan_id = s.id
    WHERE a.deleted_at IS NOT NULL LIMIT 1000)";
const DELETE_RETRIES: &str = "DELETE FROM scan_retries WHERE (scan_id, part, slot) IN (
    SELECT t.scan_id, t.part, t.slot
    FROM accounts a CROSS JOIN scans s ON s.account_id = a.id CROSS JOIN scan_retries t ON t.scan_id = s.id
    WHERE a.deleted_at IS NOT NULL LIMIT 1000)";
const DELETE_SCANS: &str = "DELETE FROM scans WHERE id IN (
    SELECT s.id FROM accounts a CROSS JOIN scans s ON s.account_id = a.id
    WHERE a.deleted_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM scan_results r WHERE r.scan_id = s.id)
      AND NOT EXISTS (SELECT 1 FROM scan_parts p WHERE p.scan_id = s.id)
      AND NOT EXISTS (SELECT 1 FROM scan_retries t WHERE t.scan_id = s.id)
    LIMIT 1000)";
const DELETE_IDEMPOTENCY_KEYS: &str = "DELETE FROM idempotency_keys WHERE (account_id, name) IN (
    SELECT k.account_id, k.name FROM accounts a CROSS JOIN idempotency_keys k ON k.account_id = a.id
    WHERE a.deleted_at IS NOT NULL LIMIT 5000)";
const DELETE_DELIVERIES: &str = "DELETE FROM webhook_deliveries WHERE (account_id, id) IN (
    SELECT d.account_id, d.id FROM accounts a CROSS JOIN webhook_deliveries d ON d.account_id = a.id
    WHERE a.deleted_at IS NOT NULL LIMIT 1000)";
const DELETE_SESSIONS: &str = "DELETE FROM sessions WHERE id IN (
    SELECT s.id FROM accounts a CROSS JOIN sessions s ON s.account_id = a.id
    WHERE a.deleted_at IS NOT NULL LIMIT 1000)";
const DELETE_ACCOUNTS: &str = "DELETE FROM accounts WHERE id IN (
    SELECT a.id FROM accounts a WHERE a.deleted_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM scans s WHERE s.account_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM idempotency_keys k WHERE k.account_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.account_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.account_id = a.id)
    LIMIT 100)";
const SELECT_LEFT_OVER: &str = "SELECT 1 AS one FROM accounts WHERE deleted_at IS NOT NULL LIMIT 1";

const STEP: [&str; 9] = [
    DELETE_RESULTS,
    DELETE_PARTS,
    DELETE_RETRIES,
    DELETE_SCANS,
    DELETE_IDEMPOTENCY_KEYS,
    DELETE_DELIVERIES,
    DELETE_SESSIONS,
    DELETE_ACCOUNTS,
    SELECT_LEFT_OVER,
];

/// Removes some of the rows, in one transaction; returns whether any deleted account remains. An account of ordinary
/// size is removed in one step.
pub async fn step(database: &Database) -> Result<bool, Error> {
    let statements: [Statement<'_>; 9] = STEP.map(|sql| (sql, Vec::new()));
    database.batch(&statements).await?.any(STEP.len() - 1)
}

/// Runs steps until a limit is reached; the next run continues.
pub async fn remove(database: &Database) -> Result<(), Error> {
    let begun = clock::now_ms();
    if !database.any((SELECT_LEFT_OVER, Vec::new())).await? {
        return Ok(());
    }
    for _ in 0..STEPS_MAX {
        if !step(database).await? || clock::now_ms().saturating_sub(begun) > PATIENCE_MS {
            break;
        }
    }
    Ok(())
}
