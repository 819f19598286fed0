//! An account's charges by day. The statement that charges the first check of a new day also moves an older day to the
//! list in the account's row: a charge needs no further statement or row.

use constcat::concat;
use serde::Deserialize;

use super::IN_SESSION;
use crate::{cf::database::Database, credentials::session::Session, error::Error};

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct UsageDay {
    pub day: u64,
    pub checks: i64,
    /// At the end of the day.
    pub welcome_left: i64,
}

/// The new `accounts.days` when another day becomes `previous_day`. The last day from more than a month ago stays: the
/// welcome checks of the first day after it are counted from it.
pub(super) const DAYS_WITH_PREVIOUS: &str = "(SELECT json_group_array(json(d.value)) FROM (
    SELECT value, coalesce(max(value ->> 0) FILTER (WHERE value ->> 0 <= accounts.day - 31) OVER (), 0) AS first
    FROM json_each(json_insert(days, '$[#]', json_array(previous_day, previous_charged, previous_welcome)))
  ) d WHERE d.value ->> 0 >= d.first)";

const SELECT_DAYS: &str = concat!(
    "SELECT day, checks, welcome_left FROM (
       SELECT d.value ->> 0 AS day, d.value ->> 1 AS checks, d.value ->> 2 AS welcome_left
       FROM accounts a, json_each(a.days) d WHERE a.id = ?1
       UNION ALL SELECT previous_day, previous_charged, previous_welcome FROM accounts
       WHERE id = ?1 AND previous_day > 0
       UNION ALL SELECT day, daily_charged, welcome_left FROM accounts WHERE id = ?1)
     WHERE EXISTS (SELECT 1 FROM accounts WHERE ",
    IN_SESSION,
    ") ORDER BY day"
);

/// The account's days of the last month and the last day before it, oldest first; empty if the session has ended.
pub async fn of_account(database: &Database, session: Session) -> Result<Vec<UsageDay>, Error> {
    let (account, id) = session.texts();
    let params = vec![(&account).into(), (&id).into()];
    database.batch(&[(SELECT_DAYS, params)]).await?.all(0)
}
