//! Facts that a notice tells besides its event, read when its email is written.

use constcat::concat;
use serde::Deserialize;

use super::{
    account::IS_OPEN,
    tally::{VerdictCounts, from_column},
};
use crate::{account::AccountId, cf::database::Database, error::Error, mail::Notice};

#[derive(Deserialize)]
struct StoppableChange {
    name: String,
}

const SELECT_STOPPABLE: &str = concat!(
    "SELECT c.name FROM changes c WHERE c.account_id = ?1 AND c.kind = ?2 AND ",
    IS_OPEN,
    " ORDER BY c.at DESC, c.about LIMIT 1"
);

pub async fn stoppable(
    database: &Database,
    account: AccountId,
    kind: Notice,
) -> Result<Option<String>, Error> {
    let account = account.to_string();
    let params = vec![(&account).into(), kind.as_str().into()];
    let change = database.first::<StoppableChange>((SELECT_STOPPABLE, params)).await?;
    Ok(change.map(|change| change.name))
}

#[derive(Deserialize)]
struct PendingRecovery {
    due_at: i64,
}

/// Leaves the owner three days after the first email, and at least half a day after a later one.
const UPDATE_SINCE: &str = "UPDATE changes SET since = max(since, unixepoch() + 43200 - 3 * 86400)
    WHERE account_id = ?1 AND about = 'recovery'";
const SELECT_DUE_AT: &str =
    "SELECT min(c.since, unixepoch()) + 3 * 86400 AS due_at FROM waiting w JOIN changes c ON c.account_id = w.account_id AND c.about = 'recovery'
    WHERE w.account_id = ?1 AND w.kind = 'recovery'";

/// When the account's recovery takes effect, for the next email about it; `None` if none is pending. Postpones it if
/// the email would leave its reader too little time.
pub async fn due_at_after_mail(
    database: &Database,
    account: AccountId,
) -> Result<Option<i64>, Error> {
    let account = account.to_string();
    let of = |sql| (sql, vec![(&account).into()]);
    let rows = database.batch(&[of(UPDATE_SINCE), of(SELECT_DUE_AT)]).await?;
    Ok(rows.first::<PendingRecovery>(1)?.map(|pending| pending.due_at))
}

#[derive(Deserialize)]
pub struct LastScan {
    pub id: String,
    pub state: String,
    pub total: u32,
    #[serde(deserialize_with = "from_column")]
    pub by_verdict: VerdictCounts,
}

const SELECT_LAST_ENDED: &str = "
    SELECT id, state, total, by_verdict FROM scans WHERE account_id = ?1 AND state IN ('completed', 'expired')
    ORDER BY ended_at DESC LIMIT CAST(min(?2, 5) AS INTEGER)";

/// The account's scans that completed or expired last, at most five.
pub async fn last_ended(
    database: &Database,
    account: AccountId,
    most: u64,
) -> Result<Vec<LastScan>, Error> {
    let account = account.to_string();
    database.batch(&[(SELECT_LAST_ENDED, vec![(&account).into(), most.into()])]).await?.all(0)
}
