//! A scan as clients see it: the body that creates one, and its description in responses.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    PART_POSITIONS,
    scans_sql::{self, FoundScan},
};
use crate::{
    credentials::proof::Caller,
    error::Error,
    ledger::tally::{StatusCounts, VerdictCounts},
    limits::quota::date_time,
};

/// Maximum number of addresses per body.
pub const ADDRESSES_MAX: usize = PART_POSITIONS as usize;

/// A list that is checked in the background.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scan {
    pub id: String,
    pub name: String,
    /// `open` (parts are missing), `running`, `completed`, `cancelled` or `expired`.
    #[schema(value_type = String, example = "running")]
    pub state: String,
    /// Positions of the list.
    pub total: u32,
    /// Positions that were sent.
    pub received: u32,
    /// Positions with a final verdict.
    pub answered: u32,
    /// Positions that are tried again later. If their server deferred them, they have an interim verdict until then; if
    /// we couldn't ask about them, they have none.
    pub waiting: u32,
    pub counts: StatusCounts,
    pub by_verdict: VerdictCounts,
    /// True if results include the evidence behind the verdict.
    pub details: bool,
    /// Estimated from the pace of the last minutes and the times of retries; null when there is no estimate.
    pub estimated_seconds_left: Option<u64>,
    /// Time at which the next waiting address is retried; null when none waits.
    pub next_retry_at: Option<DateTime<Utc>>,
    /// Latest time at which every waiting address has its final verdict. It counts the longest waits that servers may
    /// ask for; null when none waits.
    pub retries_until: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// Time at which the scan ended; null while it is running.
    pub completed_at: Option<DateTime<Utc>>,
    /// Time at which the results are removed; null while the scan is running.
    pub results_until: Option<DateTime<Utc>>,
}

const RESULTS_TTL_S: u64 = 7 * 24 * 60 * 60;

/// The longer of two estimates in seconds: for unchecked addresses at the pace of the last progress, for waiting
/// addresses at our own delays and at the waits that origins told. `None` if the scan isn't running, or if the pace of
/// unchecked addresses is unknown and they don't all wait for a time that an origin told.
fn seconds_left(scan: &scans_sql::StoredScan, now: u64) -> Option<u64> {
    if scan.state != "running" {
        return None;
    }
    let remaining = scan.total.saturating_sub(scan.answered).saturating_sub(scan.waiting);
    let at_pace = match scan.answered.saturating_sub(scan.previous_answered) {
        _ if remaining == 0 => Some(0),
        0 => None,
        done => {
            let elapsed = scan.progress_at.saturating_sub(scan.previous_at).max(1);
            let all = u64::from(remaining).saturating_mul(elapsed).div_ceil(u64::from(done));
            Some(all.saturating_sub(now.saturating_sub(scan.progress_at))).filter(|left| *left > 0)
        }
    };
    let waits = scan.expected_at.filter(|_| scan.waiting + scan.unasked > 0);
    // Without a wait from an origin, only the next attempt is expected.
    let are_told = remaining <= scan.unasked && scan.expected_at > scan.due_at;
    let at_pace = at_pace.or(are_told.then_some(0))?;
    Some(at_pace.max(waits.map_or(0, |at| at.saturating_sub(now))).max(1))
}

impl Scan {
    pub fn new(scan: scans_sql::StoredScan, now: u64) -> Self {
        Self {
            estimated_seconds_left: seconds_left(&scan, now),
            next_retry_at: scan.due_at.filter(|_| scan.ended_at.is_none()).map(date_time),
            retries_until: scan.latest_at.filter(|_| scan.ended_at.is_none()).map(date_time),
            created_at: date_time(scan.created_at),
            completed_at: scan.ended_at.map(date_time),
            results_until: scan
                .ended_at
                .map(|ended| date_time(ended.saturating_add(RESULTS_TTL_S))),
            counts: scan.counts,
            by_verdict: scan.by_verdict,
            id: scan.id,
            name: scan.name,
            state: scan.state,
            total: scan.total,
            received: scan.received,
            answered: scan.answered,
            waiting: scan.waiting.saturating_add(scan.unasked),
            details: scan.details != 0,
        }
    }
}

/// The value found, or an error: another account's scan gives the same error as an unknown one.
pub fn found<T>(found: FoundScan<T>, caller: Caller) -> Result<T, Error> {
    match found {
        FoundScan::Here(found) => Ok(found),
        FoundScan::Nothing => Err(Error::no_such_scan()),
        FoundScan::Unauthorised => Err(caller.proof.to_error()),
    }
}

/// Body of `POST /scans`: the addresses, or how many will follow in parts.
#[derive(Deserialize, ToSchema)]
pub struct NewScanRequest {
    /// 1 to 1,000 addresses, one for each position. Larger lists are sent in parts.
    pub addresses: Option<Vec<String>>,
    /// Number of positions in the list, if its parts follow.
    pub total: Option<u32>,
    /// At most 100 characters.
    name: Option<String>,
    /// True if results should include the evidence behind the verdict.
    #[serde(default)]
    pub details: bool,
}

impl NewScanRequest {
    pub fn total(&self) -> Result<u32, Error> {
        match (&self.addresses, self.total) {
            (Some(addresses), None) if (1..=ADDRESSES_MAX).contains(&addresses.len()) => {
                Ok(u32::try_from(addresses.len()).unwrap_or(u32::MAX))
            }
            (Some(_), None) => Err(Error::invalid_scan(
                "Send 1 to 1,000 addresses at once. For more, send total and then the parts.",
            )),
            (None, Some(0)) => Err(Error::invalid_scan("A scan has at least one address.")),
            (None, Some(total)) => Ok(total),
            _ => Err(Error::invalid_scan("Send either addresses or total.")),
        }
    }

    pub fn name(&self) -> Result<&str, Error> {
        let name = self.name.as_deref().unwrap_or_default().trim();
        let is_fine = name.chars().count() <= 100 && !name.chars().any(char::is_control);
        if is_fine { Ok(name) } else { Err(Error::invalid_scan_name()) }
    }
}

#[cfg(test)]
mod tests {
    use super::seconds_left;
    use crate::{ledger::tally::Tally, scans::scans_sql::StoredScan};

    const START: u64 = 1_790_000_000;

    /// A scan of a hundred addresses, of which `answered` had their verdicts a minute after its start.
    fn scan(answered: u32) -> StoredScan {
        StoredScan {
            id: String::new(),
            name: String::new(),
            state: "running".to_owned(),
            details: 0,
            total: 100,
            received: 100,
            answered,
            waiting: 0,
            counts: Tally::default(),
            by_verdict: Tally::default(),
            created_at: START,
            ended_at: None,
            previous_at: START,
            previous_answered: 0,
            progress_at: START + 60,
            unasked: 0,
            due_at: None,
            expected_at: None,
            latest_at: None,
            left_over: None,
        }
    }

    #[test]
    fn without_progress_the_estimate_shrinks_with_the_clock_and_ends() {
        let left = |after| seconds_left(&scan(75), START + 60 + after);
        assert_eq!([0, 1, 19].map(left), [Some(20), Some(19), Some(1)]);
        assert_eq!([20, 1_000, 90_000].map(left), [None; 3], "it never grows again");
        assert_eq!(seconds_left(&scan(0), START + 60), None, "no pace is known");
    }

    #[test]
    fn what_could_not_be_asked_about_is_left_at_the_pace_and_not_before_its_next_attempt() {
        let waits = StoredScan { unasked: 25, expected_at: Some(START + 300), ..scan(75) };
        assert_eq!(seconds_left(&waits, START + 60), Some(240));
        let none = StoredScan { unasked: 100, ..scan(0) };
        assert_eq!(seconds_left(&none, START + 60), None);
    }

    #[test]
    fn waits_that_an_origin_told_are_the_estimate_where_the_pace_says_nothing() {
        let (due_at, expected_at) = (Some(START + 600), Some(START + 8_000));
        let told = StoredScan { unasked: 25, due_at, expected_at, ..scan(75) };
        let left = |scan: &StoredScan, after| seconds_left(scan, START + after);
        assert_eq!(
            [60, 80, 1_000].map(|after| left(&told, after)),
            [7_940, 7_920, 7_000].map(Some)
        );
        let next_attempt = StoredScan { expected_at: due_at, ..told };
        assert_eq!(left(&next_attempt, 80), None, "nothing is known after it");
        let others = StoredScan { unasked: 24, due_at, expected_at, ..scan(75) };
        assert_eq!(left(&others, 80), None, "the pace of one line is unknown");
    }
}
