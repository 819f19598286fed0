//! An account's scans that completed or expired in the last 24 hours, ordered by end time.

use constcat::concat;

use super::{SELECT_AUTHORISED, StoredScan, params};
use crate::{
    cf::database::Database,
    credentials::proof::Caller,
    error::Error,
    ledger::{authorise::AUTHORISE, charge::CallerTexts},
};

/// A position among scans that are ordered by end time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    pub ended_at: u64,
    pub scan: String,
}

/// `?4` and `?5` the cursor, `?6` earliest end time, `?7` limit. The database sets end times and
/// writes one transaction at a time, so no scan is added to a past second.
const SELECT_EVENTS: &str = concat!(
    "SELECT s.* FROM accounts a JOIN scans s ON s.account_id = a.id
     WHERE s.ended_at IS NOT NULL AND s.state IN ('completed', 'expired')
       AND (s.ended_at, s.id) > (CAST(?4 AS INTEGER), ?5) AND s.ended_at >= CAST(?6 AS INTEGER)
       AND s.ended_at < unixepoch() AND ",
    AUTHORISE,
    " ORDER BY s.ended_at, s.id LIMIT CAST(?7 AS INTEGER)"
);

/// The account's scans that have completed or expired since `since` and after the cursor, in order; `None` if the
/// caller isn't authorised.
pub async fn events_after(
    database: &Database,
    caller: Caller,
    after: &Cursor,
    since: u64,
    limit: u32,
) -> Result<Option<Vec<StoredScan>>, Error> {
    let texts = CallerTexts::of(caller);
    let may = params(&texts, caller);
    let page = vec![after.ended_at.into(), (&after.scan).into(), since.into(), limit.into()];
    let page = [may.clone(), page].concat();
    let rows = database.batch(&[(SELECT_AUTHORISED, may), (SELECT_EVENTS, page)]).await?;
    if rows.any(0)? { rows.all(1).map(Some) } else { Ok(None) }
}
