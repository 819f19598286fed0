//! The sizes of the plans, and each account's plan with its end time.
//!
//! An expired plan counts as `free` in every statement ([`IN_FORCE`]), without a scheduled run, which only updates the
//! row and notifies the owner.

use constcat::concat;
use serde::Deserialize;

use super::{IN_SESSION, notices::notice};
use crate::{
    account::AccountId, cf::database::Database, credentials::session::Session, error::Error,
};

pub const IN_FORCE: &str = "CASE WHEN a.plan_until <= unixepoch() THEN 'free' ELSE a.plan END";

#[derive(Debug, Clone, Deserialize)]
pub struct PlanSizes {
    pub name: String,
    pub unlimited: u8,
    pub daily_checks: u32,
    pub welcome_checks: u32,
    pub max_in_flight: u32,
    pub daily_scans: u32,
    pub scan_size: u32,
    pub max_scans: u32,
}

const SELECT_SIZES: &str = "SELECT name, unlimited, daily_checks, welcome_checks, max_in_flight,
    daily_scans, scan_size, max_scans FROM plans ORDER BY unlimited, daily_checks, name";

/// All plans, the smallest first. Every database has the same plans.
pub async fn all(database: &Database) -> Result<Vec<PlanSizes>, Error> {
    database.batch(&[(SELECT_SIZES, Vec::new())]).await?.all(0)
}

#[derive(Debug, Deserialize)]
pub struct AccountPlan {
    pub plan: String,
    pub until: Option<i64>,
}

const SELECT_PLAN: &str = concat!(
    "SELECT ",
    IN_FORCE,
    " AS plan, CASE WHEN a.plan_until > unixepoch() THEN a.plan_until END AS until FROM accounts a WHERE "
);

const SELECT_PLAN_OF_SESSION: &str = concat!(SELECT_PLAN, IN_SESSION);
const SELECT_PLAN_OF_ACCOUNT: &str = concat!(SELECT_PLAN, "a.id = ?1");

pub async fn of_session(
    database: &Database,
    session: Session,
) -> Result<Option<AccountPlan>, Error> {
    let (account, id) = session.texts();
    database.first((SELECT_PLAN_OF_SESSION, vec![(&account).into(), (&id).into()])).await
}

pub async fn of_account(
    database: &Database,
    account: AccountId,
) -> Result<Option<AccountPlan>, Error> {
    let account = account.to_string();
    database.first((SELECT_PLAN_OF_ACCOUNT, vec![(&account).into()])).await
}

#[derive(Debug)]
pub struct PlanEvent<'a> {
    pub account: AccountId,
    pub plan: &'a str,
    pub until: u64,
    /// Time of the event in Unix milliseconds, by the caller's clock.
    pub occurred_at_ms: u64,
    /// `webhook-id` of the call.
    pub event: &'a str,
}

#[derive(Debug)]
pub struct PlanChange {
    /// The plan after the event; `None` if the account doesn't exist.
    pub account: Option<AccountPlan>,
    pub has_plan: bool,
    /// `false` if a newer event or the same call was handled before, or the account or plan doesn't
    /// exist.
    pub is_applied: bool,
}

/// `?1` account, `?2` plan, `?3` end or 0, `?4` milliseconds, `?5` event. Two events of the same
/// millisecond are applied in the order of their arrival.
const IS_NEW_EVENT: &str = "id = ?1 AND plan_set_at <= ?4
    AND EXISTS (SELECT 1 FROM plans WHERE name = ?2)
    AND NOT EXISTS (SELECT 1 FROM operator_actions WHERE id = ?5)";

/// The owner is notified of another plan, but not of another end of the same plan.
const INSERT_CHANGED_NOTICE: &str = notice!(
    "plan_changed",
    IS_NEW_EVENT,
    " AND CASE WHEN plan_until <= unixepoch() THEN 'free' ELSE plan END
      <> CASE WHEN ?3 > 0 AND ?3 <= unixepoch() THEN 'free' ELSE ?2 END"
);

/// If a call arrives after the end that it sets, the plan becomes `free`.
const UPDATE_PLAN: &str = concat!(
    "UPDATE accounts SET plan_set_at = ?4,
       plan = CASE WHEN ?3 > 0 AND ?3 <= unixepoch() THEN 'free' ELSE ?2 END,
       plan_until = CASE WHEN ?3 > unixepoch() AND ?2 <> 'free' THEN ?3 END
     WHERE ",
    IS_NEW_EVENT,
    " RETURNING id"
);

const INSERT_ACTION: &str =
    "INSERT OR IGNORE INTO operator_actions (id, at, operator, action, account_id, value)
     SELECT ?5, unixepoch(), 'webhook', CASE WHEN plan_set_at > ?4 THEN 'older-plan' ELSE 'set-plan' END,
       id, ?2 FROM accounts
     WHERE id = ?1 AND EXISTS (SELECT 1 FROM plans WHERE name = ?2)";

const SELECT_NAME: &str = "SELECT name AS plan, NULL AS until FROM plans WHERE name = ?1";

pub async fn set(database: &Database, event: &PlanEvent<'_>) -> Result<PlanChange, Error> {
    let account = event.account.to_string();
    let params = vec![
        (&account).into(),
        event.plan.into(),
        event.until.into(),
        event.occurred_at_ms.into(),
        event.event.into(),
    ];
    let rows = database
        .batch(&[
            (INSERT_CHANGED_NOTICE, params.clone()),
            (UPDATE_PLAN, params.clone()),
            (INSERT_ACTION, params),
            (SELECT_PLAN_OF_ACCOUNT, vec![(&account).into()]),
            (SELECT_NAME, vec![event.plan.into()]),
        ])
        .await?;
    Ok(PlanChange { is_applied: rows.any(1)?, account: rows.first(3)?, has_plan: rows.any(4)? })
}

const INSERT_ENDED_NOTICE: &str = notice!("plan_changed", "plan_until <= ?1 AND plan <> 'free'");
const UPDATE_ENDED: &str =
    "UPDATE accounts SET plan = 'free', plan_until = NULL WHERE plan_until <= ?1";

pub async fn end(database: &Database, now: u64) -> Result<(), Error> {
    let statements = [(INSERT_ENDED_NOTICE, vec![now.into()]), (UPDATE_ENDED, vec![now.into()])];
    database.batch(&statements).await.map(drop)
}
