//! The consumer's statements: a round is read before a message is processed, and recorded in one transaction after it.

use constcat::concat;
use rcpt_shared::{Deliverability, Status};
use serde::Deserialize;

use super::ending::ended;
use crate::{
    cf::database::{Database, Param},
    error::Error,
    ledger::{plans::IN_FORCE, tally::Tally},
};

#[derive(Debug, Deserialize)]
pub struct Round {
    pub handed: u8,
    pub details: u8,
    pub paying: u8,
    pub results: Option<String>,
    pub followed: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
pub struct RoundPosition<'a> {
    pub account: &'a str,
    pub scan: &'a str,
    pub part: u32,
    pub slot: u32,
    pub round: u32,
}

impl RoundPosition<'_> {
    fn params(&self) -> Vec<Param<'_>> {
        vec![self.scan.into(), self.part.into(), self.slot.into(), self.round.into()]
    }
}

const SELECT_ROUND: &str = concat!(
    "SELECT s.handed, s.details, ",
    IN_FORCE,
    " <> 'free' AS paying, r.results, r.followed
    FROM scans s JOIN accounts a ON a.id = s.account_id AND a.state = 'confirmed'
    LEFT JOIN scan_results r
      ON r.scan_id = s.id AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4
    WHERE s.id = ?1 AND s.account_id = ?5 AND s.ended_at IS NULL"
);

/// Reads the state of a round before it starts; `None` if its scan has ended or was deleted, or its account isn't
/// confirmed.
pub async fn begin_round(
    database: &Database,
    position: RoundPosition<'_>,
) -> Result<Option<Round>, Error> {
    let params = [position.params(), vec![position.account.into()]].concat();
    database.first((SELECT_ROUND, params)).await
}

const UPDATE_HANDED: &str =
    "UPDATE scans SET handed = 1 WHERE id = ?1 AND ended_at IS NULL RETURNING id";

pub async fn hand_over(database: &Database, scan: &str) -> Result<bool, Error> {
    database.any((UPDATE_HANDED, vec![scan.into()])).await
}

/// The scan counts as running until the round is recorded, or for this time: a batch takes at most 75 s.
const ROUND_TTL_S: u64 = 90;

const UPDATE_ASKING: &str = concat!(
    "UPDATE scans SET asking_until = ?3
     WHERE id = ?1 AND ended_at IS NULL AND (
       ",
    super::is_running!("scans", "?2"),
    " OR (SELECT p.max_scans FROM accounts a JOIN plans p ON p.name = ",
    IN_FORCE,
    " WHERE a.id = scans.account_id)
         > (SELECT count(*) FROM scans o WHERE o.account_id = scans.account_id AND o.id <> scans.id
            AND o.ended_at IS NULL AND (",
    super::is_running!("o", "?2"),
    ")))
     RETURNING id"
);

/// Counts a scan as one of the account's concurrent scans; `false` if the account's maximum number
/// is running or this scan has ended. A scan that still counts as running is always admitted.
pub async fn start_asking(database: &Database, scan: &str, now: u64) -> Result<bool, Error> {
    let until = now.saturating_add(ROUND_TTL_S);
    database.any((UPDATE_ASKING, vec![scan.into(), now.into(), until.into()])).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    pub due_at: u64,
    /// Time at which all addresses have their final verdict if no server asks for more than our own
    /// delays, and no origin for more than it told.
    pub expected_at: u64,
    /// Time at which all addresses have their final verdict if every server asks for the longest accepted delay.
    pub latest_at: u64,
    /// Positions of the message that were never asked about.
    pub unasked: u32,
}

const UPSERT_RETRY: &str = "
    INSERT INTO scan_retries (scan_id, part, slot, due_at, expected_at, latest_at, unasked)
    SELECT r.scan_id, r.part, r.slot, ?6, ?7, ?8, ?9 FROM scan_results r JOIN scans s ON s.id = r.scan_id
    WHERE r.scan_id = ?1 AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4 AND r.writer = ?5 AND s.ended_at IS NULL
    ON CONFLICT (scan_id, part, slot) DO UPDATE SET
      due_at = excluded.due_at, expected_at = excluded.expected_at, latest_at = excluded.latest_at,
      unasked = excluded.unasked, misses = 0";

const UPSERT_MISS: &str = "
    INSERT INTO scan_retries (scan_id, part, slot, due_at, expected_at, latest_at, unasked, misses)
    SELECT s.id, ?2, ?3, ?5, ?9, ?6, ?7, ?8 FROM scans s WHERE s.id = ?1 AND s.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM scan_results r
        WHERE r.scan_id = ?1 AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4)
    ON CONFLICT (scan_id, part, slot) DO UPDATE SET
      due_at = excluded.due_at, expected_at = max(expected_at, excluded.expected_at), latest_at = excluded.latest_at,
      unasked = excluded.unasked, misses = excluded.misses";

/// Until something of the scan is answered, its unit can be refunded. `?1` scan.
const UPDATE_MISSED: &str = "
    UPDATE scans SET asking_until = 0, handed = handed AND EXISTS (
      SELECT 1 FROM scan_results r WHERE r.scan_id = ?1 AND r.slot >= 0)
    WHERE id = ?1 AND ended_at IS NULL";

#[derive(Debug, Clone, Copy)]
pub struct Miss {
    pub due_at: u64,
    /// Like [`Retry::expected_at`].
    pub expected_at: u64,
    pub until: u64,
    /// Positions of the message that were never asked about.
    pub unasked: u32,
    /// Such rounds of the message in a row.
    pub misses: u32,
}

/// Records that a message waits because nobody could be asked. Changes nothing if another delivery of the message has
/// recorded the round.
pub async fn miss(
    database: &Database,
    position: RoundPosition<'_>,
    miss: Miss,
) -> Result<(), Error> {
    let Miss { due_at, expected_at, until, unasked, misses } = miss;
    let row = [due_at.into(), until.into(), unasked.into(), misses.into(), expected_at.into()];
    let row = [position.params(), row.to_vec()].concat();
    let missed = (UPDATE_MISSED, vec![position.scan.into()]);
    database.batch(&[(UPSERT_MISS, row), missed]).await.map(drop)
}

const DELETE_RETRY: &str = "
    DELETE FROM scan_retries WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND EXISTS (
      SELECT 1 FROM scan_results WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND round = ?4 AND writer = ?5)";

#[derive(Debug)]
pub struct RoundOutcome<'a> {
    pub results: &'a str,
    pub delta: &'a Delta,
    /// `None` if neither a server nor an origin has deferred any of the undecided addresses.
    pub retry: Option<Retry>,
    /// True if an earlier attempt at the round asked nobody, which is noted.
    pub had_missed: bool,
    pub writer: &'a str,
}

#[derive(Debug)]
pub struct Delta {
    /// Positions with a new final verdict, by status.
    pub counts: Tally<Status>,
    pub by_verdict: Tally<Deliverability>,
    pub waiting: u32,
    pub waited: u32,
}

impl Delta {
    fn is_unanswered(&self) -> bool {
        let failed = self.counts.of(Status::FatalException);
        failed > 0 && failed == self.counts.sum()
    }
}

/// Lets the unit of a scan be refunded that this transaction has completed without a verdict about any address. `?1`
/// scan, `?2` name of its ending.
const UPDATE_UNANSWERED: &str = "
    UPDATE scans SET handed = 0 WHERE id = ?1 AND ended_by = ?2 AND NOT EXISTS (
      SELECT 1 FROM json_each(counts) WHERE key NOT IN ('fatal_exception', 'invalid_format') AND value > 0)";

const INSERT_RESULTS: &str = "
    INSERT OR IGNORE INTO scan_results (scan_id, part, slot, round, results, writer)
    SELECT id, ?2, ?3, ?4, ?5, ?6 FROM scans WHERE id = ?1 AND ended_at IS NULL";
/// `?7` answered: stores nothing if the round would end its scan.
const INSERT_FURTHER_RESULTS: &str = concat!(INSERT_RESULTS, " AND answered + ?7 < total");

macro_rules! added {
    ($column:literal, $param:literal) => {
        concat!(
            $column,
            " = (SELECT json_group_object(key, number) FROM (
               SELECT key, sum(value) AS number FROM (
                 SELECT key, value FROM json_each(scans.",
            $column,
            ") UNION ALL SELECT key, value FROM json_each(",
            $param,
            ")) GROUP BY key))"
        )
    };
}
pub(super) use added;

/// `?1` scan, `?2` part, `?3` slot, `?4` round, `?5` writer, `?6` answered, `?7` waiting, `?8`
/// waited, `?9` now, `?10` counts by status and `?11` by verdict. Counts only rows that were
/// written by this transaction. The pace is measured over windows of a minute.
const UPDATE_COUNTS: &str = concat!(
    "UPDATE scans SET
      asking_until = 0,
      progress_at = max(progress_at, ?9),
      answered = answered + ?6,
      waiting = max(0, waiting + ?7 - ?8),
      received = CASE WHEN answered + ?6 >= total THEN total ELSE received END,
      state = CASE WHEN answered + ?6 >= total THEN 'completed' ELSE state END,
      ended_at = CASE WHEN answered + ?6 >= total THEN unixepoch() ELSE ended_at END,
      ended_by = CASE WHEN answered + ?6 >= total THEN ?5 ELSE ended_by END,
      previous_at = CASE WHEN ?9 >= window_at + 60 THEN window_at ELSE previous_at END,
      previous_answered = CASE WHEN ?9 >= window_at + 60 THEN window_answered ELSE previous_answered END,
      window_answered = CASE WHEN ?9 >= window_at + 60 THEN answered ELSE window_answered END,
      window_at = CASE WHEN ?9 >= window_at + 60 THEN ?9 ELSE window_at END,
      ",
    added!("counts", "?10"),
    ", ",
    added!("by_verdict", "?11"),
    " WHERE id = ?1 AND ended_at IS NULL AND EXISTS (SELECT 1 FROM scan_results
      WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND round = ?4 AND writer = ?5) RETURNING id"
);

const SELECT_WRITTEN: &str = "
    SELECT r.results, s.ended_by = ?5 AS has_ended FROM scan_results r JOIN scans s ON s.id = r.scan_id
    WHERE r.scan_id = ?1 AND r.part = ?2 AND r.slot = ?3 AND r.round = ?4";

#[derive(Debug, Deserialize)]
pub struct WrittenRound {
    pub results: String,
    pub has_ended: u8,
}

/// Stores and counts the results of a round unless that was done before: a message delivered twice counts once. Returns
/// the stored state, which another delivery may have written; `None` if the scan had ended before anything was stored.
/// A round that ends its scan, and a repeated one, takes two round trips: all others need none of the statements for
/// the end.
pub async fn record(
    database: &Database,
    position: RoundPosition<'_>,
    round: &RoundOutcome<'_>,
    now: u64,
) -> Result<Option<WrittenRound>, Error> {
    let RoundOutcome { results, delta, retry, had_missed, writer } = *round;
    let this = position.params();
    let select_written = (SELECT_WRITTEN, [this.clone(), vec![writer.into()]].concat());
    let row = [this.clone(), vec![results.into(), writer.into()]].concat();
    let mut count = [this, vec![writer.into()]].concat();
    count.extend([delta.counts.sum(), delta.waiting, delta.waited].map(Param::from));
    let (counts, by_verdict) = (delta.counts.to_text(), delta.by_verdict.to_text());
    count.extend([Param::from(now), (&counts).into(), (&by_verdict).into()]);
    let waits = match retry {
        Some(Retry { due_at, expected_at, latest_at, unasked }) => {
            let mut times = [due_at, expected_at, latest_at].map(Param::from).to_vec();
            times.push(unasked.into());
            Some((UPSERT_RETRY, [select_written.1.clone(), times].concat()))
        }
        None if position.round > 0 || had_missed => Some((DELETE_RETRY, select_written.1.clone())),
        None => None,
    };
    let further = [row.clone(), vec![delta.counts.sum().into()]].concat();
    let mut statements = vec![(INSERT_FURTHER_RESULTS, further), (UPDATE_COUNTS, count.clone())];
    statements.extend(waits.clone());
    if database.batch(&statements).await?.any(1)? {
        return Ok(Some(WrittenRound { results: results.to_owned(), has_ended: 0 }));
    }
    let mut statements = vec![(INSERT_RESULTS, row), (UPDATE_COUNTS, count), select_written];
    statements.extend(waits);
    if delta.is_unanswered() {
        statements.push((UPDATE_UNANSWERED, vec![position.scan.into(), writer.into()]));
        statements.push(super::give_back(position.scan, writer, super::NO_REFUND_LIMIT, now));
    }
    statements.extend(ended(position.scan, writer));
    let rows = database.batch(&statements).await?;
    rows.first(2)
}

const UPDATE_FOLLOWED: &str = "
    UPDATE scan_results SET followed = 1
    WHERE scan_id = ?1 AND part = ?2 AND slot = ?3 AND round = ?4";

pub async fn set_followed(database: &Database, position: RoundPosition<'_>) -> Result<(), Error> {
    database.run((UPDATE_FOLLOWED, position.params())).await
}
