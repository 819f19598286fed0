//! Lists for operators: accounts and the audit, at most fifty rows, from all databases.

use std::cmp::Reverse;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use constcat::concat;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::overview;
use crate::{
    app::App,
    cf::database::{Database, Statement},
    error::Error,
    ledger::plans::IN_FORCE,
};

const ROWS_MAX: usize = 50;

#[derive(Debug, Serialize, Deserialize)]
struct AccountRow {
    email: String,
    plan: String,
    state: String,
    used_today: u32,
    welcome_left: u32,
}

const SELECT_ACCOUNTS: &str = concat!(
    "SELECT a.email, ",
    IN_FORCE,
    " AS plan, a.state, a.welcome_left,
       CASE WHEN a.day = unixepoch() / 86400 THEN a.daily_charged ELSE 0 END AS used_today
     FROM accounts a WHERE a.deleted_at IS NULL"
);
const SELECT_BUSIEST: &str =
    concat!(SELECT_ACCOUNTS, " ORDER BY used_today DESC, a.email LIMIT 50");
/// `instr` instead of LIKE, which has wildcards.
const SELECT_BY_PART: &str =
    concat!(SELECT_ACCOUNTS, " AND instr(lower(a.email), lower(?1)) > 0 ORDER BY a.email LIMIT 50");

#[derive(Serialize)]
struct Accounts {
    accounts: Vec<AccountRow>,
}

/// The accounts that have used the most checks today.
pub async fn list(app: &App) -> Result<Response, Error> {
    let mut accounts: Vec<AccountRow> = everywhere(app, || (SELECT_BUSIEST, Vec::new())).await?;
    accounts.sort_by_key(|row| Reverse(row.used_today));
    accounts.truncate(ROWS_MAX);
    Ok(Json(Accounts { accounts }).into_response())
}

pub async fn search(app: &App, text: &str) -> Result<Response, Error> {
    let mut accounts: Vec<AccountRow> =
        everywhere(app, || (SELECT_BY_PART, vec![text.into()])).await?;
    accounts.sort_by(|one, other| one.email.cmp(&other.email));
    accounts.truncate(ROWS_MAX);
    Ok(Json(Accounts { accounts }).into_response())
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RecordedDeed {
    at: String,
    id: String,
    operator: String,
    action: String,
    account: String,
    value: String,
    reason: String,
}

/// `?1` account, or `''` for all.
const SELECT_RECORDS: &str = "SELECT datetime(o.at, 'unixepoch') AS at, o.id, o.operator, o.action,
       coalesce(nullif(a.email, ''), o.account_id, '') AS account, o.value, o.reason
     FROM operator_actions o LEFT JOIN accounts a ON a.id = o.account_id
     WHERE o.account_id = ?1 ORDER BY o.at DESC, o.rowid DESC LIMIT 50";
const SELECT_ALL_RECORDS: &str =
    "SELECT datetime(o.at, 'unixepoch') AS at, o.id, o.operator, o.action,
       coalesce(nullif(a.email, ''), o.account_id, '') AS account, o.value, o.reason
     FROM operator_actions o LEFT JOIN accounts a ON a.id = o.account_id
     ORDER BY o.at DESC, o.rowid DESC LIMIT 50";

#[derive(Serialize)]
struct Audit {
    records: Vec<RecordedDeed>,
}

/// The last changes by operators, of all accounts or of one; the account may be deleted.
pub async fn audit(app: &App, account: Option<&str>) -> Result<Response, Error> {
    let mut records: Vec<RecordedDeed> = match account {
        Some(account) => {
            let account = overview::find(app, account).await?;
            let id = account.to_string();
            app.databases
                .of(account)?
                .batch(&[(SELECT_RECORDS, vec![(&id).into()])])
                .await?
                .all(0)?
        }
        None => everywhere(app, || (SELECT_ALL_RECORDS, Vec::new())).await?,
    };
    records.sort_by(|one, other| other.at.cmp(&one.at));
    // A change of every database has a row in each, all with the same id.
    records.dedup_by(|one, other| one.id == other.id);
    records.truncate(ROWS_MAX);
    Ok(Json(Audit { records }).into_response())
}

async fn everywhere<'a, T: DeserializeOwned>(
    app: &App,
    statement: impl Fn() -> Statement<'a>,
) -> Result<Vec<T>, Error> {
    let rows = app.databases.in_turn(0).map(|(_, database)| of(database, statement()));
    Ok(try_join_all(rows).await?.into_iter().flatten().collect())
}

async fn of<T: DeserializeOwned>(
    database: &Database,
    statement: Statement<'_>,
) -> Result<Vec<T>, Error> {
    database.batch(&[statement]).await?.all(0)
}
