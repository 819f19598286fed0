//! Data of an account in one document for its owner: the responses of the operations that show it, and data that no
//! operation shows.

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    accounts::{
        account::{self, Account},
        passkeys::{self, PasskeyList},
        plan::{self, PlanReport},
        security_event_list::{self, SecurityEvents},
        session_list::{self, Sessions},
        usage::{self, Usage},
    },
    app::App,
    cf::clock,
    checks::guard::{self, GuardPolicy},
    credentials::session::Session,
    error::{Error, PlainError},
    extract::{member::Member, request::RequestContext},
    keys::key_list::{self, KeyList},
    ledger::{operator_actions, security_events},
    limits::{
        rules::{Gate, Key, Rule},
        throttle::Attempt,
    },
    scans::{scan::Scan, scans_sql},
    webhooks::notifications::{self, Notifications},
};

/// Data stored about the account, except secrets, the results of scans and changes of its address.
#[derive(Serialize, ToSchema)]
pub struct Export {
    exported_at: DateTime<Utc>,
    account: Account,
    plan: PlanReport,
    usage: Usage,
    sessions: Sessions,
    /// Without their texts.
    keys: KeyList,
    passkeys: PasskeyList,
    security_events: SecurityEvents,
    /// Without the webhook's secret.
    notifications: Notifications,
    /// Without the hook's path and secret.
    guard: GuardPolicy,
    /// Every stored scan, newest first. Results have pages of their own.
    scans: Vec<Scan>,
    /// Actions of the service's operator on the account, newest first; at most 1,000.
    operator_actions: Vec<OperatorAction>,
}

/// An action of an operator, or of their program, on the account.
#[derive(Serialize, ToSchema)]
struct OperatorAction {
    at: DateTime<Utc>,
    /// Such as `set-plan`.
    action: String,
    /// The plan or the number that was set; empty where there is none.
    value: String,
}

/// An export costs a dozen trips to the account's database: a burst of ten, then ten an hour.
const RULE: Rule = Rule { burst: 10, interval: 6 * 60 };

const PAGE_ROWS: u32 = 500;

/// Export the account's data
///
/// A JSON document with what is stored about the account. It leaves out secrets, changes of the address, and
/// the results of scans, which have their own operation.
#[utoipa::path(
    get, path = "/v1/me/export", tag = "Account", operation_id = "exportData",
    responses(
        (status = 200, description = "The data", body = Export),
        (status = 429, description = "Too many exports, at most ten an hour, or too many requests", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn export(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
) -> Result<Json<Export>, Error> {
    let (session, now) = (member.session, clock::now());
    let gates = vec![Gate::new(Key::export(session.account), RULE)];
    Attempt::count(app.databases.directory(), gates, now).await?;
    let database = app.databases.of(session.account)?;
    security_events::note_export(database, session, &context.event()).await?;
    let state = || State(Arc::clone(&app));
    let Json(account) = account::show(member).await?;
    let Json(plan) = plan::show(state(), session).await?;
    let Json(usage) = usage::report(state(), session).await?;
    let Json(sessions) = session_list::list(state(), session).await?;
    let Json(keys) = key_list::list(state(), session).await?;
    let Json(passkeys) = passkeys::list(state(), session).await?;
    let Json(security_events) = security_event_list::list(state(), session).await?;
    let Json(notifications) = notifications::show(state(), session).await?;
    let Json(guard) = guard::show(state(), session).await?;
    let actions = operator_actions::of_session(database, session).await?;
    let date_time = |seconds| {
        let time = DateTime::from_timestamp(seconds, 0);
        time.ok_or_else(|| Error::internal("a time is out of range"))
    };
    let actions = actions.into_iter().map(|stored| {
        Ok(OperatorAction { at: date_time(stored.at)?, action: stored.action, value: stored.value })
    });
    Ok(Json(Export {
        exported_at: date_time(i64::try_from(now).unwrap_or_default())?,
        account,
        plan,
        usage,
        sessions,
        keys,
        passkeys,
        security_events,
        notifications: notifications.without_secret(),
        guard: guard.without_secret(),
        scans: all_scans(&app, session, now).await?,
        operator_actions: actions.collect::<Result<_, Error>>()?,
    }))
}

/// Reads page by page; the number of an account's scans is limited.
async fn all_scans(app: &App, session: Session, now: u64) -> Result<Vec<Scan>, Error> {
    let database = app.databases.of(session.account)?;
    // A text greater than every id: ids begin with a smaller letter.
    let (mut all, mut before) = (Vec::new(), "~".to_owned());
    loop {
        let page = scans_sql::list(database, session.into(), &before, PAGE_ROWS).await?;
        let page = page.ok_or_else(Error::invalid_session)?;
        let is_last = page.len() < PAGE_ROWS as usize;
        if let Some(last) = page.last() {
            before.clone_from(&last.id);
        }
        all.extend(page.into_iter().map(|scan| Scan::new(scan, now)));
        if is_last {
            return Ok(all);
        }
    }
}
