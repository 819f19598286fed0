//! Parts as they come in. A part is written down before it is sent and marked when all of it is in the queue: one
//! that was cut off in between is sent again by the client, and only as it was.

use constcat::concat;
use serde::Deserialize;

use super::{AUTHORISE, Found, Scan, params, rounds::completed};
use crate::{
    cf::database::{Database, Param, Statement},
    credentials::proof::Caller,
    error::Error,
    store::ledger::Texts,
};

/// A part as it arrives.
#[derive(Debug)]
pub struct Part<'a> {
    pub scan: &'a str,
    pub number: u32,
    /// How many positions it has.
    pub positions: u32,
    /// Under each live secret, the one that signs first; empty where the part is one address.
    pub macs: &'a [String],
}

/// What is known of a part.
#[derive(Debug)]
pub struct PartState {
    pub scan: Scan,
    /// `None` when the scan takes no further parts, or none like this.
    pub part: Option<Written>,
}

/// A part that was written down.
#[derive(Debug, Deserialize)]
pub struct Written {
    pub mac: String,
    pub sent: u8,
}

/// `?4` scan, `?5` part, `?6` positions, `?7` MAC, `?8` not made before.
const BEGIN: &str = concat!(
    "INSERT OR IGNORE INTO scan_parts (scan_id, part, mac)
     SELECT s.id, ?5, ?7 FROM accounts a JOIN scans s ON s.account_id = a.id AND s.id = ?4
     WHERE s.state = 'open' AND s.created_at > ?8 AND ?5 * 1000 < s.total
       AND ?6 = min(1000, s.total - ?5 * 1000) AND ",
    AUTHORISE
);

/// Read by those who own the scan: `?1` scan, `?2` part.
const READ: &str = "SELECT mac, sent FROM scan_parts WHERE scan_id = ?1 AND part = ?2";

/// Writes the part down, unless it is there already, and says what is there. `since` is before when a scan is
/// too old to take parts, unix seconds.
pub async fn begin_part(
    database: &Database,
    caller: Caller,
    part: &Part<'_>,
    since: u64,
) -> Result<Found<PartState>, Error> {
    let texts = Texts::of(caller);
    let may = params(&texts, caller);
    let own = [may.clone(), vec![part.scan.into()]].concat();
    let mac = part.macs.first().map_or("", String::as_str);
    let number = Param::from(part.number);
    let begin =
        [own.clone(), vec![number, part.positions.into(), mac.into(), since.into()]].concat();
    let read = (READ, vec![part.scan.into(), number]);
    let statements = [(super::AUTHORISED, may), (BEGIN, begin), (super::OWN, own), read];
    let rows = database.batch(&statements).await?;
    Ok(match rows.first(2)? {
        Some(scan) => Found::Here(PartState { scan, part: rows.first(3)? }),
        None if rows.any(0)? => Found::Nothing,
        None => Found::Unauthorised,
    })
}

/// `?1` scan, `?2` part, `?3` results.
const NO_ADDRESSES: &str = "
    INSERT OR IGNORE INTO scan_results (scan_id, part, slot, round, results, writer)
    SELECT ?1, ?2, -1, 0, ?3, '' FROM scan_parts p JOIN scans s ON s.id = p.scan_id
    WHERE p.scan_id = ?1 AND p.part = ?2 AND p.sent = 0 AND s.state = 'open'";

/// `?1` scan, `?2` part, `?3` positions, `?4` how many are no addresses, `?5` now, `?6` the name of an ending.
const RECEIVED: &str = "
    UPDATE scans SET
      received = received + ?3,
      answered = answered + ?4,
      invalid_format = invalid_format + ?4,
      state = CASE WHEN answered + ?4 >= total THEN 'completed'
        WHEN received + ?3 >= total THEN 'running' ELSE state END,
      ended_at = CASE WHEN answered + ?4 >= total THEN ?5 ELSE ended_at END,
      ended_by = CASE WHEN answered + ?4 >= total THEN ?6 ELSE ended_by END
    WHERE id = ?1 AND state = 'open'
      AND EXISTS (SELECT 1 FROM scan_parts WHERE scan_id = ?1 AND part = ?2 AND sent = 0)";

const SENT: &str = "UPDATE scan_parts SET sent = 1 WHERE scan_id = ?1 AND part = ?2 AND sent = 0";

/// Marks the part as sent and counts it, once; `malformed` are the results of those that are no addresses, and
/// how many they are.
pub async fn finish_part(
    database: &Database,
    scan: &str,
    number: u32,
    positions: u32,
    malformed: (&str, u32),
    ending: &str,
    now: u64,
) -> Result<Option<Scan>, Error> {
    let this: Vec<Param<'_>> = vec![scan.into(), number.into()];
    let received = vec![positions.into(), malformed.1.into(), now.into(), ending.into()];
    let mut statements: Vec<Statement<'_>> = Vec::new();
    if malformed.1 > 0 {
        statements.push((NO_ADDRESSES, [this.clone(), vec![malformed.0.into()]].concat()));
    }
    statements.push((RECEIVED, [this.clone(), received].concat()));
    if malformed.1 > 0 {
        statements.push(completed(scan, ending));
    }
    statements.push((SENT, this));
    statements.push((super::BY_ID, vec![scan.into()]));
    database.batch(&statements).await?.first(statements.len() - 1)
}
