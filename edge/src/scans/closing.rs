//! Closes overdue and stalled scans: positions without a verdict are counted as unknown.

use rcpt_shared::{Deliverability, Status};

use super::{
    LIFETIME_S, PART_POSITIONS, STALLED_S,
    results::latest,
    scans_sql::{self, Overdue},
};
use crate::{
    cf::{clock, database::Database, log},
    credentials::random,
    error::Error,
    ledger::tally::Tally,
};

/// Parts read in one statement: their results are a few megabytes at most.
const PARTS_PER_STATEMENT: u32 = 10;

/// A scan that fails is retried in the next run.
pub async fn run(database: &Database) -> Result<(), Error> {
    let now = clock::now();
    let (created, progress) = (now.saturating_sub(LIFETIME_S), now.saturating_sub(STALLED_S));
    for scan in scans_sql::overdue(database, created, progress).await? {
        if let Err(error) = close(database, &scan, now).await {
            log::failure("closing of a scan", &error);
        }
    }
    Ok(())
}

async fn close(database: &Database, scan: &Overdue, now: u64) -> Result<(), Error> {
    let parts = scan.total.div_ceil(PART_POSITIONS);
    let (mut counts, mut by_verdict) = (Tally::default(), Tally::default());
    for first in (0..parts).step_by(PARTS_PER_STATEMENT as usize) {
        let last = (first + PARTS_PER_STATEMENT).min(parts) - 1;
        let rows = scans_sql::rows_of_parts(database, &scan.id, (first, last)).await?;
        for part in first..=last {
            let of_part = rows.iter().filter(|row| row.part == part);
            let stored_results =
                latest(of_part.map(|row| row.results.as_str()), PART_POSITIONS as usize);
            for result in stored_results.into_iter().flatten() {
                counts.add(result.status, 1);
                by_verdict.add(result.verdict(), 1);
            }
        }
    }
    let known_count = counts.sum();
    // Verdicts that took an origin, and didn't fail with it.
    let answered = known_count
        .saturating_sub(counts.of(Status::InvalidFormat))
        .saturating_sub(counts.of(Status::FatalException));
    let unknown = scan.total.saturating_sub(known_count);
    counts.add(Status::FatalException, unknown);
    by_verdict.add(Deliverability::Unknown, unknown);
    let ending = random::identifier()?;
    scans_sql::close(database, scan, (&counts, &by_verdict), answered == 0, &ending, now).await
}
