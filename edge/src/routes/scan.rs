//! A scan as its clients see it: the body that makes one, and the answer of every operation on one.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    background::scans::PART,
    credentials::proof::Caller,
    error::Error,
    limits::quota::date_time,
    store::scans::{self, FoundScan, StatusCounts, VerdictCounts},
};

/// Addresses of one body.
pub const ADDRESSES_MAX: usize = PART as usize;

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
    /// Positions whose server asked for patience: they're asked again later. Until then they have an interim verdict.
    pub waiting: u32,
    pub counts: StatusCounts,
    pub by_verdict: VerdictCounts,
    /// Whether results have the evidence behind the verdict.
    pub details: bool,
    /// From the pace of the last minutes, and from when addresses are asked again; null when nothing can be said.
    pub estimated_seconds_left: Option<u64>,
    /// When the next address that waits is asked again; null when none waits.
    pub next_retry_at: Option<DateTime<Utc>>,
    /// When every address that waits has its final verdict at the latest, even if each server asks for the longest wait
    /// that is granted; null when none waits.
    pub retries_until: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// When the scan ended; null while it is under way.
    pub completed_at: Option<DateTime<Utc>>,
    /// When the results are removed; null while the scan is under way.
    pub results_until: Option<DateTime<Utc>>,
}

/// Seconds for which results are kept.
const KEPT: u64 = 7 * 24 * 60 * 60;

/// Seconds that what was not asked yet takes at the pace of the last minutes, and what waits at our own delays. Nothing can
/// be said while parts are missing, or before a pace is known.
fn seconds_left(scan: &scans::StoredScan, now: u64) -> Option<u64> {
    if scan.state != "running" {
        return None;
    }
    let left = scan.total.saturating_sub(scan.answered).saturating_sub(scan.waiting);
    let at_pace = match scan.answered.saturating_sub(scan.previous_answered) {
        _ if left == 0 => 0,
        0 => return None,
        done => {
            let elapsed = now.saturating_sub(scan.previous_at).max(1);
            u64::from(left).saturating_mul(elapsed).div_ceil(u64::from(done))
        }
    };
    let waits = scan.expected_at.filter(|_| scan.waiting > 0);
    Some(at_pace.max(waits.map_or(0, |at| at.saturating_sub(now))).max(1))
}

impl Scan {
    pub fn new(scan: scans::StoredScan, now: u64) -> Self {
        Self {
            estimated_seconds_left: seconds_left(&scan, now),
            next_retry_at: scan.due_at.filter(|_| scan.ended_at.is_none()).map(date_time),
            retries_until: scan.latest_at.filter(|_| scan.ended_at.is_none()).map(date_time),
            created_at: date_time(scan.created_at),
            completed_at: scan.ended_at.map(date_time),
            results_until: scan.ended_at.map(|ended| date_time(ended.saturating_add(KEPT))),
            counts: scan.counts,
            by_verdict: scan.by_verdict,
            id: scan.id,
            name: scan.name,
            state: scan.state,
            total: scan.total,
            received: scan.received,
            answered: scan.answered,
            waiting: scan.waiting,
            details: scan.details != 0,
        }
    }
}

/// What was found, or why there is nothing: an unknown scan and one of another account are the same.
pub fn found<T>(found: FoundScan<T>, caller: Caller) -> Result<T, Error> {
    match found {
        FoundScan::Here(found) => Ok(found),
        FoundScan::Nothing => Err(Error::no_such_scan()),
        FoundScan::Unauthorised => Err(caller.proof.refused()),
    }
}

/// Body of `POST /scans`: the addresses, or how many will follow in parts.
#[derive(Deserialize, ToSchema)]
pub struct NewScanRequest {
    /// 1 to 1,000 addresses, one for each position. Larger lists are sent in parts.
    pub addresses: Option<Vec<String>>,
    /// How many positions the list has, when its parts follow.
    pub total: Option<u32>,
    /// At most 100 characters.
    name: Option<String>,
    /// Whether results are to have the evidence behind the verdict.
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
