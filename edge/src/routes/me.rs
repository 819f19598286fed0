//! The account itself, and `GET /v1/me/quota` (interface §4.7).

use std::sync::Arc;

use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    app::App,
    body::JsonBody,
    caller::{Caller, SessionCaller},
    cf::clock,
    client::Client,
    error::Error,
    quota::{Day, QuotaReport},
    store::{
        accounts::{self, Member},
        ledger,
    },
};

/// The plan and what is left of the allowances.
pub async fn quota(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<QuotaReport>, Error> {
    let now = clock::now();
    let usage = ledger::usage(&app.database, caller, now).await?;
    let usage = usage.ok_or_else(|| caller.unauthorised())?;
    Ok(Json(QuotaReport::new(usage, Day::of(now))))
}

/// Answer of `GET /me`.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Account {
    pub email: String,
    /// Empty until it is set.
    pub display_name: String,
    /// Name of the plan.
    pub plan: String,
    /// Whether two-factor authentication is on.
    pub two_factor: bool,
    pub recovery_codes_left: u32,
    pub created_at: DateTime<Utc>,
}

/// The account as its owner sees it.
pub async fn show(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
) -> Result<Json<Account>, Error> {
    let member = Member::of_session(&app, caller).await?;
    let created_at = DateTime::from_timestamp(member.created_at, 0);
    Ok(Json(Account {
        email: member.email,
        display_name: member.display_name,
        plan: member.plan,
        two_factor: member.totp_secret.is_some(),
        recovery_codes_left: member.recovery_codes_left,
        created_at: created_at.ok_or_else(|| Error::internal("created_at is out of range"))?,
    }))
}

/// Body of `DELETE /me`.
#[derive(Deserialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Deletion {
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = String))]
    pub password: SecretString,
    /// Current code or recovery code, when two-factor authentication is on.
    #[cfg_attr(not(target_arch = "wasm32"), schema(value_type = Option<String>))]
    pub totp_code: Option<SecretString>,
}

/// Removes the account with everything that belongs to it; its key and sessions end with it.
pub async fn delete(
    State(app): State<Arc<App>>,
    caller: SessionCaller,
    client: Client,
    JsonBody(body): JsonBody<Deletion>,
) -> Result<StatusCode, Error> {
    let member = Member::of_session(&app, caller).await?;
    member.check_password(&app, &client, &body.password).await?;
    member.challenge().meet(&app, body.totp_code.as_ref()).await?;
    if accounts::delete(&app.database, caller, &member.address_hash).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Error::invalid_session())
    }
}
