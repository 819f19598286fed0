//! The account itself: its owner can see and delete it.

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, NaiveDate, Utc};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{changes::RecentChange, changes_sql::OPEN_S, closing_sql, deletion, deletion_sql};
use crate::{
    app::App,
    cf::{clock, log},
    credentials::password::Password,
    error::{Error, PlainError},
    extract::{
        client_network::ClientNetwork, json_body::JsonBody, member::Member, request::RequestContext,
    },
    limits::quota::date_time,
    mail,
};

/// Response of `GET /me`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Account {
    email: String,
    /// Empty until it is set.
    display_name: String,
    /// Name of the plan.
    plan: String,
    /// True if two-factor authentication is on.
    two_factor: bool,
    recovery_codes_left: u32,
    created_at: DateTime<Utc>,
    /// Last day, in UTC, on which a check or scan was counted with the current API key; null until there is one.
    key_last_used: Option<NaiveDate>,
    /// Time at which an operator's recovery turns two-factor authentication off and voids the password; absent while none is
    /// pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    recovery_at: Option<DateTime<Utc>>,
    /// Changes that a reset of the password can still take back, the oldest first.
    open_changes: Vec<RecentChange>,
}

/// Get the account
///
/// Its address, plan and settings.
#[utoipa::path(
    get, path = "/v1/me", tag = "Account", operation_id = "me",
    responses((status = 200, description = "The account", body = Account)),
    security(("Session" = [])),
)]
pub async fn show(Member { account, .. }: Member) -> Result<Json<Account>, Error> {
    let created_at = DateTime::from_timestamp(account.created_at, 0);
    Ok(Json(Account {
        email: account.email,
        display_name: account.display_name,
        plan: account.plan,
        two_factor: account.totp_secret.is_some(),
        recovery_codes_left: account.recovery_codes_left,
        created_at: created_at.ok_or_else(|| Error::internal("created_at is out of range"))?,
        key_last_used: match account.key_day {
            0 => None,
            day => NaiveDate::from_epoch_days(day),
        },
        recovery_at: account.recovery_due_at.and_then(|at| DateTime::from_timestamp(at, 0)),
        open_changes: RecentChange::all(&account.open_changes)?,
    }))
}

/// Body of `DELETE /me`.
#[derive(Deserialize, ToSchema)]
pub struct Deletion {
    #[schema(value_type = String)]
    password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Delete the account
///
/// Removes everything that belongs to it, and ends its keys and sessions. For 30 days a new account of the mailbox gets no
/// welcome checks, and begins with that day's allowance used.
#[utoipa::path(
    delete, path = "/v1/me", tag = "Account", operation_id = "deleteAccount",
    request_body = Deletion,
    responses(
        (status = 204, description = "The account has been deleted"),
        (status = 403, description = "The password is wrong, or the two-factor code is missing or wrong", body = PlainError),
        (status = 409, description = "The password is younger than three days", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    context: RequestContext,
    member: Member,
    client: ClientNetwork,
    JsonBody(body): JsonBody<Deletion>,
) -> Result<StatusCode, Error> {
    let old_enough = member.account.password_at.saturating_add(OPEN_S);
    if member.account.password_at > 0 && old_enough > clock::now() {
        return Err(Error::password_too_young(&date_time(old_enough).to_rfc3339()));
    }
    member.check_password(&app, &context, &client, &body.password).await?;
    let right = member.second_factor().demand(&app, &context, body.totp_code.as_ref()).await?;
    let database = app.databases.of(member.account.id)?;
    if !closing_sql::delete(database, member.session, &right.code, clock::now()).await? {
        return Err(member.explain_failure(&app, &context, &right).await?);
    }
    let closed = [member.account.id];
    tell(&app, &context, member);
    // The account is already deleted. The scheduled run completes failed and remaining steps.
    let secrets = &app.config.address_secrets;
    if let Err(error) = deletion::forget(&app.databases, secrets, &closed).await {
        log::failure("the directory of a deletion", &error);
    }
    if let Err(error) = deletion_sql::step(database).await {
        log::failure("the rows of a deletion", &error);
    }
    Ok(StatusCode::NO_CONTENT)
}

/// There is no retry, because the address isn't stored.
fn tell(app: &Arc<App>, context: &RequestContext, Member { account, .. }: Member) {
    let (app, event) = (Arc::clone(app), context.event());
    context.deferred.after_response(async move {
        let mail = mail::deleted(&app.config.portal_url, &event);
        if let Err(error) =
            app.mailer.send(mail.to(&account.email, app.config.site.contact())).await
        {
            log::failure("deletion", &error);
        }
    });
}
