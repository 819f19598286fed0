//! What the consumer reads and writes: one read before a message is worked on, one transaction after it.

use serde::Deserialize;

use crate::{
    cf::database::{Database, Param, Statement},
    error::Error,
};

/// A scan that a message belongs to, and what is there already of this round of the message.
#[derive(Debug, Deserialize)]
pub struct Round {
    pub handed: u8,
    pub details: u8,
    pub paying: u8,
    pub results: Option<String>,
    pub followed: Option<u8>,
}

/// Where a row of results stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub account: &'a str,
    pub scan: &'a str,
    pub part: u32,
    pub slot: u32,
    pub round: u32,
}

impl Place<'_> {
    fn params(&self) -> Vec<Param<'_>> {
        vec![self.scan.into(), self.part.into(), self.slot.into(), self.round.into()]
    }
}

/// `?1` scan, `?2` part, `?3` slot, `?4` round, `?5` account.
const BEGIN: &str = "
    SELECT s.handed, s.details, a.plan <> 'free' AS paying, r.results, r.followed
    FROM scans s JOIN accounts a ON a.id = s.account_id AND a.state = 'confirmed'
    LEFT JOIN scan_results r
      ON r.scan_id = s.id AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4
    WHERE s.id = ?1 AND s.account_id = ?5 AND s.ended_at IS NULL";

/// Begins a round of a message; `None` when its scan has ended or is gone.
pub async fn begin_round(database: &Database, place: Place<'_>) -> Result<Option<Round>, Error> {
    let params = [place.params(), vec![place.account.into()]].concat();
    database.first((BEGIN, params)).await
}

const HAND_OVER: &str =
    "UPDATE scans SET handed = 1 WHERE id = ?1 AND ended_at IS NULL RETURNING id";

/// Notes that an origin is about to be asked; `false` when the scan has ended meanwhile.
pub async fn hand_over(database: &Database, scan: &str) -> Result<bool, Error> {
    database.any((HAND_OVER, vec![scan.into()])).await
}

/// What a round adds to its scan.
#[derive(Debug)]
pub struct Delta {
    /// Final verdicts, in the order of [`Status::ALL`](rcpt_shared::Status::ALL).
    pub counts: [u32; 9],
    pub answered: u32,
    pub waiting: u32,
    pub waited: u32,
}

/// `?1` scan, `?2` part, `?3` slot, `?4` round, `?5` results, `?6` writer.
const RESULTS: &str = "
    INSERT OR IGNORE INTO scan_results (scan_id, part, slot, round, results, writer)
    SELECT id, ?2, ?3, ?4, ?5, ?6 FROM scans WHERE id = ?1 AND ended_at IS NULL";

/// `?1` scan, `?2` part, `?3` slot, `?4` round, `?5` writer, `?6` answered, `?7` waiting, `?8` waited, `?9` now,
/// `?10` to `?18` by status. Counts only what this transaction has written. A window of the pace is a minute.
const COUNT: &str = "
    UPDATE scans SET
      answered = answered + ?6,
      waiting = max(0, waiting + ?7 - ?8),
      received = CASE WHEN answered + ?6 >= total THEN total ELSE received END,
      state = CASE WHEN answered + ?6 >= total THEN 'completed' ELSE state END,
      ended_at = CASE WHEN answered + ?6 >= total THEN ?9 ELSE ended_at END,
      ended_by = CASE WHEN answered + ?6 >= total THEN ?5 ELSE ended_by END,
      previous_at = CASE WHEN ?9 >= window_at + 60 THEN window_at ELSE previous_at END,
      previous_answered = CASE WHEN ?9 >= window_at + 60 THEN window_answered ELSE previous_answered END,
      window_answered = CASE WHEN ?9 >= window_at + 60 THEN answered ELSE window_answered END,
      window_at = CASE WHEN ?9 >= window_at + 60 THEN ?9 ELSE window_at END,
      accepted = accepted + ?10,
      refused = refused + ?11,
      invalid_format = invalid_format + ?12,
      domain_not_found = domain_not_found + ?13,
      no_mx_records = no_mx_records + ?14,
      smtp_connect_error = smtp_connect_error + ?15,
      smtp_timeout = smtp_timeout + ?16,
      blocked_by_provider = blocked_by_provider + ?17,
      fatal_exception = fatal_exception + ?18
    WHERE id = ?1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM scan_results
      WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND round = ?4 AND writer = ?5)";

/// `?1` scan, `?2` the name of its ending.
const COMPLETED: &str = "
    UPDATE accounts SET completed_scans = completed_scans + 1
    FROM scans s WHERE s.id = ?1 AND s.ended_by = ?2 AND s.state = 'completed'
      AND accounts.id = s.account_id";

/// Counts a scan that this transaction has completed.
pub(super) fn completed<'a>(scan: &'a str, ending: &'a str) -> Statement<'a> {
    (COMPLETED, vec![scan.into(), ending.into()])
}

/// `?1` scan, `?2` part, `?3` slot, `?4` round, `?5` writer.
const WRITTEN: &str = "
    SELECT r.results, s.ended_by = ?5 AS has_ended FROM scan_results r JOIN scans s ON s.id = r.scan_id
    WHERE r.scan_id = ?1 AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4";

/// What is there of a round after it was recorded.
#[derive(Debug, Deserialize)]
pub struct Written {
    pub results: String,
    /// Whether the scan has ended with it.
    pub has_ended: u8,
}

/// Writes the results of a round and counts them, unless that has been done: a message that is delivered twice counts
/// once. Returns what is there now, which another delivery may have written; `None` when the scan has ended.
pub async fn record(
    database: &Database,
    place: Place<'_>,
    results: &str,
    delta: &Delta,
    writer: &str,
    now: u64,
) -> Result<Option<Written>, Error> {
    let this = place.params();
    let written = (WRITTEN, [this.clone(), vec![writer.into()]].concat());
    let row = [this.clone(), vec![results.into(), writer.into()]].concat();
    let mut count = [this, vec![writer.into()]].concat();
    count.extend([delta.answered, delta.waiting, delta.waited].map(Param::from));
    count.push(now.into());
    count.extend(delta.counts.map(Param::from));
    let statements = [(RESULTS, row), (COUNT, count), completed(place.scan, writer), written];
    let rows = database.batch(&statements).await?;
    rows.first(3)
}

/// `?1` scan, `?2` part, `?3` slot, `?4` round.
const FOLLOWED: &str = "
    UPDATE scan_results SET followed = 1
    WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND round = ?4";

/// Notes that the message that asks again is in the queue.
pub async fn set_followed(database: &Database, place: Place<'_>) -> Result<(), Error> {
    database.run((FOLLOWED, place.params())).await
}
