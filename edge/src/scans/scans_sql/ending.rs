//! The end of a scan, and overdue scans, which end although some verdicts are missing.

use rcpt_shared::{Deliverability, Status};
use serde::Deserialize;

use super::ResultRow;
use crate::{
    cf::database::{Database, Param, Statement},
    error::Error,
    ledger::tally::Tally,
};

const UPDATE_COMPLETED_SCANS: &str = "
    UPDATE accounts SET completed_scans = completed_scans + 1
    FROM scans s WHERE s.id = ?1 AND s.ended_by = ?2 AND s.state = 'completed'
      AND accounts.id = s.account_id";
/// The email is about scans that have ended since the last one, without a time, browser and country.
const INSERT_ENDED_NOTICE: &str = "
    INSERT INTO notices (account_id, kind, due_at)
    SELECT a.id, 'scan_ended', s.ended_at FROM scans s JOIN accounts a ON a.id = s.account_id
    WHERE s.id = ?1 AND s.ended_by = ?2 AND s.state IN ('completed', 'expired') AND a.scan_mail = 1
    ON CONFLICT (account_id, kind) DO UPDATE
      SET deeds = deeds + 1, attempts = 0, due_at = max(due_at, excluded.due_at)";
/// An account has at most 1,000 waiting deliveries: further events are dropped.
const INSERT_DELIVERY: &str = "
    INSERT OR IGNORE INTO webhook_deliveries
      (account_id, id, kind, created_at, scan_id, total, answered, counts, by_verdict)
    SELECT w.account_id, replace(s.id, 'scan_', 'msg_'), 'scan.' || s.state, s.ended_at,
      s.id, s.total, s.answered, s.counts, s.by_verdict
    FROM scans s JOIN webhooks w ON w.account_id = s.account_id
    WHERE s.id = ?1 AND s.ended_by = ?2 AND s.state IN ('completed', 'expired')
      AND 1000 > (SELECT count(*) FROM webhook_deliveries d
        WHERE d.account_id = s.account_id AND d.state = 'pending')";
const DELETE_RETRIES: &str = "DELETE FROM scan_retries
    WHERE scan_id = ?1 AND EXISTS (SELECT 1 FROM scans s WHERE s.id = ?1 AND s.ended_by = ?2)";

/// Does nothing unless the scan has ended under this name while it waited for retries. A scan with all answers waits
/// for none.
pub(super) fn end_retries<'a>(scan: &'a str, ending: &'a str) -> Statement<'a> {
    (DELETE_RETRIES, vec![scan.into(), ending.into()])
}

/// The statements follow one of this name that may have ended the scan, and do nothing unless it has. A completed or
/// expired scan is announced by email and webhook, and a completed one is counted.
pub(super) fn ended<'a>(scan: &'a str, ending: &'a str) -> [Statement<'a>; 3] {
    let statements = [UPDATE_COMPLETED_SCANS, INSERT_ENDED_NOTICE, INSERT_DELIVERY];
    statements.map(|sql| (sql, vec![scan.into(), ending.into()]))
}

#[derive(Debug, Deserialize)]
pub struct Overdue {
    pub id: String,
    pub total: u32,
    pub answered: u32,
    pub progress_at: u64,
}

/// `?1` latest creation time, `?2` latest progress of a scan that has stalled: no round was recorded since, and no
/// server's wish for patience ended later.
const SELECT_OVERDUE: &str = "
    SELECT id, total, answered, progress_at FROM scans s WHERE ended_at IS NULL AND (created_at <= ?1
      OR state = 'running' AND progress_at <= ?2 AND NOT EXISTS (
        SELECT 1 FROM scan_retries r WHERE r.scan_id = s.id AND r.misses = 0 AND r.due_at > ?2))
    ORDER BY created_at LIMIT 20";

/// At most twenty scans that haven't ended and were created at or before `created`, or have stalled since `progress`
/// (both in Unix seconds).
pub async fn overdue(
    database: &Database,
    created: u64,
    progress: u64,
) -> Result<Vec<Overdue>, Error> {
    let params = vec![created.into(), progress.into()];
    database.batch(&[(SELECT_OVERDUE, params)]).await?.all(0)
}

const SELECT_RESULTS: &str = "
    SELECT part, results FROM scan_results WHERE scan_id = ?1 AND part BETWEEN ?2 AND ?3
    ORDER BY part, round, slot";

pub async fn rows_of_parts(
    database: &Database,
    scan: &str,
    parts: (u32, u32),
) -> Result<Vec<ResultRow>, Error> {
    let params = vec![scan.into(), parts.0.into(), parts.1.into()];
    database.batch(&[(SELECT_RESULTS, params)]).await?.all(0)
}

/// `?1` scan, `?2` name of this ending, `?4` state, `?5` whether the unit is refunded, `?6`
/// answered positions when counted, `?7` counts by status, `?8` by verdict, `?9` its last progress. A scan that has
/// progressed since the count isn't closed until the next run.
const UPDATE_CLOSED: &str = "
    UPDATE scans SET state = ?4, ended_at = unixepoch(), ended_by = ?2, waiting = 0, received = total,
      handed = CASE WHEN ?5 THEN 0 ELSE handed END, answered = total,
      counts = ?7, by_verdict = ?8
    WHERE id = ?1 AND ended_at IS NULL AND answered = ?6 AND progress_at = ?9";

pub async fn close(
    database: &Database,
    scan: &Overdue,
    counts: (&Tally<Status>, &Tally<Deliverability>),
    expired: bool,
    ending: &str,
    now: u64,
) -> Result<(), Error> {
    let state = if expired { "expired" } else { "completed" };
    let (counts, by_verdict) = (counts.0.to_text(), counts.1.to_text());
    let params: Vec<Param<'_>> = vec![
        (&scan.id).into(),
        ending.into(),
        now.into(),
        state.into(),
        u32::from(expired).into(),
        scan.answered.into(),
        (&counts).into(),
        (&by_verdict).into(),
        scan.progress_at.into(),
    ];
    let mut statements = vec![(UPDATE_CLOSED, params)];
    statements.extend(ended(&scan.id, ending));
    statements.push(end_retries(&scan.id, ending));
    if expired {
        statements.push(super::give_back(&scan.id, ending, super::NO_REFUND_LIMIT, now));
    }
    database.batch(&statements).await.map(drop)
}
