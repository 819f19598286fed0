//! Parts of a scan as they arrive. A part is recorded before it is queued, and marked when all of it is in the queue.
//! After an interruption the client sends the identical part again.

use constcat::concat;
use rcpt_shared::{Deliverability, Status};
use serde::Deserialize;

use super::{FoundScan, StoredScan, ending::ended, params, rounds::added};
use crate::{
    cf::database::{Database, Param, Statement},
    credentials::proof::Caller,
    error::Error,
    ledger::{authorise::AUTHORISE, charge::CallerTexts, tally::Tally},
};

#[derive(Debug)]
pub struct ScanPart<'a> {
    pub scan: &'a str,
    pub number: u32,
    pub positions: u32,
    /// MACs under each live secret, the signing secret's first; empty if the part has fewer than
    /// two different addresses.
    pub macs: &'a [String],
}

#[derive(Debug)]
pub struct PartState {
    pub scan: StoredScan,
    /// `None` if nothing is recorded: the scan accepts no further parts, or no part of this number and size.
    pub part: Option<WrittenPart>,
}

#[derive(Debug, Deserialize)]
pub struct WrittenPart {
    /// Empty if the part has too few different addresses.
    pub mac: String,
    pub sent: u8,
    comparisons: u32,
}

impl WrittenPart {
    pub const fn is_used_up(&self) -> bool {
        self.comparisons >= COMPARISONS_MAX
    }
}

/// With other addresses, too: each comparison shows whether a guess of the whole part is right.
const COMPARISONS_MAX: u32 = 20;

const INSERT_PART: &str = concat!(
    "INSERT OR IGNORE INTO scan_parts (scan_id, part, mac)
     SELECT s.id, ?5, ?7 FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id = ?4
     WHERE s.state = 'open' AND s.created_at > ?8 AND ?5 * 1000 < s.total
       AND ?6 = min(1000, s.total - ?5 * 1000) AND ",
    AUTHORISE
);

/// The row may be used only if the same batch has verified the owner.
const SELECT_PART: &str =
    "SELECT mac, sent, comparisons FROM scan_parts WHERE scan_id = ?1 AND part = ?2";

/// Requires that the part is the caller's and can be compared: `?4` scan, `?5` part, `?6` positions, `?7` maximum
/// number of comparisons.
const IS_COMPARABLE: &str = concat!(
    "scan_id = ?4 AND part = ?5 AND mac <> '' AND comparisons < ?7 AND EXISTS (
       SELECT 1 FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id = ?4
       WHERE ?6 = min(1000, s.total - ?5 * 1000) AND ",
    AUTHORISE,
    ")"
);

/// `?8` MACs of the sent addresses, in JSON. A comparison is counted before its result is returned,
/// so that concurrent requests can't exceed twenty.
const UPDATE_OTHER_COMPARISONS: &str = concat!(
    "UPDATE scan_parts SET comparisons = comparisons + 1
     WHERE mac NOT IN (SELECT value FROM json_each(?8)) AND ",
    IS_COMPARABLE
);

const UPDATE_COMPARISONS: &str = concat!(
    "UPDATE scan_parts SET comparisons = comparisons + 1 WHERE sent = 1 AND ",
    IS_COMPARABLE,
    " RETURNING mac"
);

#[derive(Debug)]
pub enum Comparison {
    With(String),
    UsedUp,
    /// No completely queued part has this number and size, or it has no MAC.
    Nothing,
}

#[derive(Deserialize)]
struct Compared {
    mac: String,
}

pub async fn compare_part(
    database: &Database,
    caller: Caller,
    part: &ScanPart<'_>,
) -> Result<FoundScan<(StoredScan, Comparison)>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let own = [may.clone(), vec![part.scan.into()]].concat();
    let limits = [part.number, part.positions, COMPARISONS_MAX].map(Param::from);
    let compare = [own.clone(), limits.to_vec()].concat();
    let read = (SELECT_PART, vec![part.scan.into(), part.number.into()]);
    let statements = [
        (super::SELECT_AUTHORISED, may),
        (UPDATE_COMPARISONS, compare),
        (super::SELECT_OWN, own),
        read,
    ];
    let rows = database.batch(&statements).await?;
    let Some(scan) = rows.first::<StoredScan>(2)? else {
        return Ok(if rows.any(0)? { FoundScan::Nothing } else { FoundScan::Unauthorised });
    };
    let comparison = match (rows.first::<Compared>(1)?, rows.first::<WrittenPart>(3)?) {
        (Some(Compared { mac }), _) => Comparison::With(mac),
        (None, Some(part)) if part.sent != 0 && part.is_used_up() => Comparison::UsedUp,
        _ => Comparison::Nothing,
    };
    Ok(FoundScan::Here((scan, comparison)))
}

/// Records the part unless it exists, and returns its state. Scans created at or before `since`
/// (Unix seconds) accept no parts.
pub async fn begin_part(
    database: &Database,
    caller: Caller,
    part: &ScanPart<'_>,
    since: u64,
) -> Result<FoundScan<PartState>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let own = [may.clone(), vec![part.scan.into()]].concat();
    let mac = part.macs.first().map_or("", String::as_str);
    let number = Param::from(part.number);
    let begin =
        [own.clone(), vec![number, part.positions.into(), mac.into(), since.into()]].concat();
    let read = (SELECT_PART, vec![part.scan.into(), number]);
    let macs = serde_json::to_string(part.macs).unwrap_or_default();
    let limits = vec![number, part.positions.into(), COMPARISONS_MAX.into(), (&macs).into()];
    let count = (UPDATE_OTHER_COMPARISONS, [own.clone(), limits].concat());
    let statements = [
        (super::SELECT_AUTHORISED, may),
        (INSERT_PART, begin),
        (super::SELECT_OWN, own),
        count,
        read,
    ];
    let rows = database.batch(&statements).await?;
    Ok(match rows.first(2)? {
        Some(scan) => FoundScan::Here(PartState { scan, part: rows.first(4)? }),
        None if rows.any(0)? => FoundScan::Nothing,
        None => FoundScan::Unauthorised,
    })
}

const INSERT_MALFORMED: &str = "
    INSERT OR IGNORE INTO scan_results (scan_id, part, slot, round, results, writer)
    SELECT ?1, ?2, -1, 0, ?3, '' FROM scan_parts p JOIN scans s ON s.id = p.scan_id
    WHERE p.scan_id = ?1 AND p.part = ?2 AND p.sent = 0 AND s.state = 'open'";

/// The pace is measured after all parts have arrived: before that, the client determines it. `?1` scan, `?2` part, `?3`
/// positions, `?4` malformed addresses, `?5` now, `?6` an ending, `?7` their counts by status and `?8` by verdict.
const UPDATE_RECEIVED: &str = concat!(
    "UPDATE scans SET
      received = received + ?3,
      answered = answered + ?4,
      state = CASE WHEN answered + ?4 >= total THEN 'completed'
        WHEN received + ?3 >= total THEN 'running' ELSE state END,
      ended_at = CASE WHEN answered + ?4 >= total THEN unixepoch() ELSE ended_at END,
      ended_by = CASE WHEN answered + ?4 >= total THEN ?6 ELSE ended_by END,
      progress_at = ?5,
      window_at = CASE WHEN received + ?3 >= total THEN ?5 ELSE window_at END,
      window_answered = CASE WHEN received + ?3 >= total THEN answered + ?4 ELSE window_answered END,
      previous_at = CASE WHEN received + ?3 >= total THEN ?5 ELSE previous_at END,
      previous_answered = CASE WHEN received + ?3 >= total THEN answered + ?4 ELSE previous_answered END, ",
    added!("counts", "?7"),
    ", ",
    added!("by_verdict", "?8"),
    " WHERE id = ?1 AND state = 'open'
      AND EXISTS (SELECT 1 FROM scan_parts WHERE scan_id = ?1 AND part = ?2 AND sent = 0)"
);

const UPDATE_PART_SENT: &str =
    "UPDATE scan_parts SET sent = 1 WHERE scan_id = ?1 AND part = ?2 AND sent = 0";

pub async fn finish_part(
    database: &Database,
    scan: &str,
    number: u32,
    positions: u32,
    malformed: (&str, u32),
    ending: &str,
    now: u64,
) -> Result<Option<StoredScan>, Error> {
    let this: Vec<Param<'_>> = vec![scan.into(), number.into()];
    let (mut counts, mut by_verdict) = (Tally::default(), Tally::default());
    counts.add(Status::InvalidFormat, malformed.1);
    by_verdict.add(Deliverability::Undeliverable, malformed.1);
    let (counts, by_verdict) = (counts.to_text(), by_verdict.to_text());
    let received = vec![
        positions.into(),
        malformed.1.into(),
        now.into(),
        ending.into(),
        (&counts).into(),
        (&by_verdict).into(),
    ];
    let mut statements: Vec<Statement<'_>> = Vec::new();
    if malformed.1 > 0 {
        statements.push((INSERT_MALFORMED, [this.clone(), vec![malformed.0.into()]].concat()));
    }
    statements.push((UPDATE_RECEIVED, [this.clone(), received].concat()));
    if malformed.1 > 0 {
        statements.extend(ended(scan, ending));
    }
    statements.push((UPDATE_PART_SENT, this));
    statements.push((super::SELECT_BY_ID, vec![scan.into()]));
    database.batch(&statements).await?.first(statements.len() - 1)
}
