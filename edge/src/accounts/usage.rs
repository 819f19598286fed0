//! Number of checks counted on each of the last days.

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::NaiveDate;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    cf::clock,
    credentials::session::Session,
    error::Error,
    ledger::usage_days::{self, UsageDay},
    limits::quota::Day,
};

/// Including today.
const DAYS: u64 = 30;

/// Checks by day.
#[derive(Debug, Serialize, ToSchema)]
pub struct Usage {
    /// The last 30 days in UTC, the oldest first.
    days: Vec<DayOfUsage>,
}

/// A day in UTC.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DayOfUsage {
    date: NaiveDate,
    /// Checks counted on it, welcome checks among them.
    email_checks: i64,
}

/// Get checks by day
///
/// Numbers of counted checks on each of the last 30 days, today without those in progress.
#[utoipa::path(
    get, path = "/v1/me/usage", tag = "Quota", operation_id = "showUsage",
    responses((status = 200, description = "The last 30 days", body = Usage)),
    security(("Session" = [])),
)]
pub async fn report(State(app): State<Arc<App>>, session: Session) -> Result<Json<Usage>, Error> {
    let today = Day::of(clock::now()).number();
    let rows = usage_days::of_account(app.databases.of(session.account)?, session).await?;
    // Unless the session has ended, the query returns at least one row.
    if rows.is_empty() {
        return Err(Error::invalid_session());
    }
    Ok(Json(Usage { days: days(&rows, today) }))
}

const fn first_of(today: u64) -> u64 {
    (today + 1).saturating_sub(DAYS)
}

/// Rows must be ordered by day; days without a row had no charge.
fn days(rows: &[UsageDay], today: u64) -> Vec<DayOfUsage> {
    let counted = |day: u64| {
        let at = rows.iter().position(|row| row.day == day)?;
        let row = rows.get(at)?;
        let before = at.checked_sub(1).and_then(|before| rows.get(before)).unwrap_or(row);
        Some(row.checks + (before.welcome_left - row.welcome_left).max(0))
    };
    (first_of(today)..=today)
        .filter_map(|day| {
            let date = NaiveDate::from_epoch_days(i32::try_from(day).ok()?)?;
            Some(DayOfUsage { date, email_checks: counted(day).unwrap_or(0) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{DAYS, UsageDay, days};

    const TODAY: u64 = 20_779;

    fn counts(rows: &[(u64, i64, i64)]) -> Vec<i64> {
        let row = |&(day, checks, welcome_left)| UsageDay { day, checks, welcome_left };
        let rows: Vec<_> = rows.iter().map(row).collect();
        let days = days(&rows, TODAY);
        assert_eq!(days.len(), usize::try_from(DAYS).unwrap());
        assert_eq!(days.last().unwrap().date.to_string(), "2026-11-22");
        days.into_iter().rev().map(|day| day.email_checks).collect()
    }

    #[test]
    fn each_day_has_its_checks_welcome_checks_among_them_and_the_others_have_none() {
        let counts = counts(&[
            (0, 0, 50),
            (TODAY - 40, 7, 50),
            (TODAY - 29, 100, 45),
            (TODAY - 2, 100, 5),
            (TODAY, 3, 5),
        ]);
        assert_eq!(counts[..4], [3, 0, 140, 0]);
        assert_eq!(counts[29], 105);
        assert_eq!(counts.iter().sum::<i64>(), 248);
    }

    #[test]
    fn without_a_row_before_it_a_day_has_only_its_daily_checks() {
        assert_eq!(counts(&[(TODAY, 3, 5)])[0], 3);
        assert_eq!(counts(&[(0, 0, 50)]), [0; 30]);
    }
}
