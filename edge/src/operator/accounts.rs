//! Changes of one account.

use axum::response::Response;
use chrono::{DateTime, Utc};
use constcat::concat;

use super::{
    deed::{Deed, Done, record},
    overview::{self, Overview, SELECT_OVERVIEW},
};
use crate::{
    account::AccountId,
    accounts::recoveries_sql::{self, IS_RECOVERABLE},
    app::App,
    cf::{clock, database::Statement},
    error::Error,
    ledger::{
        notices::{deed, notice},
        operator_actions::BY_CALL,
        plans::IN_FORCE,
    },
};

/// A change without parameters: the audit's row under the change's condition, and what follows it.
pub struct AccountChange {
    record: &'static str,
    statements: &'static [&'static str],
    /// Why the condition doesn't hold.
    refusal: fn(&Overview) -> &'static str,
}

const UPDATE: &str = "UPDATE accounts SET ";
const WHERE: &str = concat!(" WHERE ", BY_CALL);
const OF_CALL: &str =
    concat!("account_id = ?1 AND EXISTS (SELECT 1 FROM accounts WHERE ", BY_CALL, ")");
/// Reactivating an account must not bring its sessions back.
const DELETE_SESSIONS: &str = concat!("DELETE FROM sessions WHERE ", OF_CALL);

pub const DEACTIVATE_KEY: AccountChange = AccountChange {
    record: record!("key_active = 1"),
    statements: &[concat!(UPDATE, "key_active = 0", WHERE)],
    refusal: |_| "Its API key is deactivated already.",
};

pub const REACTIVATE_KEY: AccountChange = AccountChange {
    record: record!("key_active = 0"),
    statements: &[concat!(UPDATE, "key_active = 1", WHERE)],
    refusal: |_| "Its API key isn't deactivated.",
};

pub const DEACTIVATE: AccountChange = AccountChange {
    record: record!("state <> 'deactivated'"),
    statements: &[concat!(UPDATE, "state = 'deactivated'", WHERE), DELETE_SESSIONS],
    refusal: |_| "It is deactivated already.",
};

pub const REACTIVATE: AccountChange = AccountChange {
    record: record!("state = 'deactivated' AND erase_at IS NULL"),
    statements: &[concat!(UPDATE, "state = 'confirmed'", WHERE)],
    refusal: |account| match account.erased_at {
        Some(_) => "It is being deleted. Undelete it first.",
        None => "It isn't deactivated.",
    },
};

/// The account is only deactivated for a day; the scheduled step then erases it.
pub const DELETE: AccountChange = AccountChange {
    record: record!("erase_at IS NULL"),
    statements: &[
        concat!(UPDATE, "state = 'deactivated', erase_at = unixepoch() + 86400", WHERE),
        DELETE_SESSIONS,
    ],
    refusal: |_| "It is being deleted already.",
};

/// The account stays deactivated: it may have been so before.
pub const UNDELETE: AccountChange = AccountChange {
    record: record!("erase_at IS NOT NULL"),
    statements: &[concat!(UPDATE, "erase_at = NULL", WHERE)],
    refusal: |_| "No deletion of it is waiting.",
};

/// The next scheduled run emails the owner, since an impostor may have persuaded the operator.
pub const RECOVER: AccountChange = AccountChange {
    record: record!(IS_RECOVERABLE),
    statements: &recoveries_sql::START,
    refusal: |account| {
        if account.two_factor == 0 {
            "It can't be recovered: two-factor authentication is off."
        } else {
            "It can't be recovered: a recovery is under way, or its password or address has changed within 14 days."
        }
    },
};

const STOPPED: [&str; 2] = deed!("recovery_stopped", BY_CALL);
pub const STOP_RECOVERY: AccountChange = AccountChange {
    record: record!("EXISTS (SELECT 1 FROM waiting WHERE account_id = ?1 AND kind = 'recovery')"),
    statements: &[
        STOPPED[0],
        STOPPED[1],
        concat!("DELETE FROM waiting WHERE kind = 'recovery' AND ", OF_CALL),
    ],
    refusal: |_| "No recovery of it is under way.",
};

/// Runs a change without parameters.
pub async fn change(
    app: &App,
    deed: &Deed<'_>,
    account: &str,
    change: &AccountChange,
) -> Result<Response, Error> {
    let account = overview::find(app, account).await?;
    let of_call = |id| vec![id, deed.call.into()];
    let id = account.to_string();
    let statements = change.statements.iter().map(|sql| (*sql, of_call((&id).into())));
    let statements = statements.collect();
    let refusal = |account: &Overview| Error::not_possible((change.refusal)(account));
    run(app, deed, account, (change.record, ""), statements, &refusal).await
}

const RECORD_PLAN: &str = record!("EXISTS (SELECT 1 FROM plans WHERE name = ?6)");
/// `?3` the plan.
const INSERT_PLAN_NOTICE: &str = concat!(
    "WITH a AS (SELECT * FROM accounts WHERE id = ?1) ",
    notice!("plan_changed", BY_CALL, " AND ?3 <> (SELECT ", IN_FORCE, " FROM a)")
);
/// `?3` the plan, `?4` its end in Unix seconds or 0, `?5` now in milliseconds: earlier events of a payment provider
/// come to nothing.
const UPDATE_PLAN: &str = concat!(
    UPDATE,
    "plan = ?3, plan_until = nullif(CAST(?4 AS INTEGER), 0), plan_set_at = ?5",
    WHERE
);

/// Sets an account's plan; with an end, the account is on `free` from then on.
pub async fn set_plan(
    app: &App,
    deed: &Deed<'_>,
    account: &str,
    plan: &str,
    until: Option<DateTime<Utc>>,
) -> Result<Response, Error> {
    let until = until.map_or(0, |until| u64::try_from(until.timestamp()).unwrap_or(1));
    if until > 0 && until <= clock::now() {
        return Err(Error::invalid_body("until: expected a time that is still to come."));
    }
    let account = overview::find(app, account).await?;
    let id = account.to_string();
    let params = vec![(&id).into(), deed.call.into(), plan.into()];
    let end = vec![until.into(), clock::now_ms().into()];
    let statements =
        vec![(INSERT_PLAN_NOTICE, params.clone()), (UPDATE_PLAN, [params, end].concat())];
    run(app, deed, account, (RECORD_PLAN, plan), statements, &|_| Error::no_such_plan()).await
}

const RECORD: &str = record!("true");
/// `?3` the number. The account's chart counts welcome checks from its first day (`ledger/usage_days.rs`).
const UPDATE_WELCOME: &str = concat!(
    UPDATE,
    "welcome_left = welcome_left + ?3,
     days = CASE days WHEN '[]' THEN json_array(json_array(0, 0, CAST(welcome_left + ?3 AS INTEGER))) ELSE days END",
    WHERE
);

pub async fn grant_checks(
    app: &App,
    deed: &Deed<'_>,
    account: &str,
    number: u32,
) -> Result<Response, Error> {
    if !(1..=999_999_999).contains(&number) {
        return Err(Error::invalid_body("number: expected 1 to 999999999."));
    }
    let account = overview::find(app, account).await?;
    let (id, value) = (account.to_string(), number.to_string());
    let params = vec![(&id).into(), deed.call.into(), number.into()];
    let statements = vec![(UPDATE_WELCOME, params)];
    run(app, deed, account, (RECORD, &value), statements, &|_| Error::no_such_account()).await
}

/// The record's condition may refuse.
async fn run(
    app: &App,
    deed: &Deed<'_>,
    account: AccountId,
    (record, value): (&'static str, &str),
    mut statements: Vec<Statement<'_>>,
    refusal: &(dyn Fn(&Overview) -> Error + Sync),
) -> Result<Response, Error> {
    let (database, id) = (app.databases.of(account)?, account.to_string());
    statements.insert(0, (record, [vec![(&id).into()], deed.params(value).to_vec()].concat()));
    let last = statements.len();
    statements.push((SELECT_OVERVIEW, vec![(&id).into()]));
    let Some(rows) = deed.run(database, &statements).await? else {
        let after = overview::of(app, database, account).await?;
        return Ok(Done { applied: false, after }.into_response());
    };
    let after = rows.first::<Overview>(last)?.ok_or_else(Error::no_such_account)?;
    if !rows.any(0)? {
        return Err(refusal(&after));
    }
    Ok(Done { applied: true, after: after.named(app, account) }.into_response())
}
