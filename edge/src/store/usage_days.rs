//! An account's charges by day. Database triggers write the rows (`0040_usage_days.sql`), so that a
//! charge needs no further statement.

use constcat::concat;
use serde::Deserialize;

use super::IN_SESSION;
use crate::{cf::database::Database, credentials::session::Session, error::Error};

/// An account's charges on one day.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct UsageDay {
    /// Days since 1970-01-01, UTC; 0 before the first charge.
    pub day: u64,
    /// Checks charged to the daily allowance.
    pub checks: i64,
    /// Welcome checks left at the end of the day.
    pub welcome_left: i64,
}

/// The previous days, and the day that is still in the account's own row. `?3` is the first
/// requested day; the last stored day before it is also returned.
const SELECT_DAYS: &str = concat!(
    "SELECT day, checks, welcome_left FROM (
       SELECT day, checks, welcome_left FROM usage_days
       WHERE account_id = ?1 AND day >= coalesce(
         (SELECT max(day) FROM usage_days WHERE account_id = ?1 AND day < ?3), 0)
       UNION ALL SELECT day, daily_charged, welcome_left FROM accounts WHERE id = ?1)
     WHERE EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY day"
);

/// Returns the account's days from `first` on and the last stored day before it, oldest first; empty
/// if the session has ended.
pub async fn of_account(
    database: &Database,
    session: Session,
    first: u64,
) -> Result<Vec<UsageDay>, Error> {
    let (account, id) = session.texts();
    let params = vec![(&account).into(), (&id).into(), first.into()];
    database.batch(&[(SELECT_DAYS, params)]).await?.all(0)
}
