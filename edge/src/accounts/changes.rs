//! Stopping changes of an account, by the link in an email or in a session. It opens nothing; a reset takes changes
//! back.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    changes_sql::{self, OpenChange},
    reset_factor::ResetFactor,
    stops_sql,
};
use crate::{
    account::AccountId,
    app::App,
    credentials::{
        link_token::{self, LinkUse},
        session::Session,
    },
    error::{Error, PlainError},
    extract::{client_network::ClientNetwork, json_body::JsonBody, request::RequestContext},
    meter,
};

/// A change that a reset of the password can take back.
#[derive(Debug, Serialize, ToSchema)]
pub struct RecentChange {
    /// Name of the security event, such as `passkey_added`.
    kind: String,
    at: DateTime<Utc>,
    /// Until then a reset takes it back. A change of the address takes effect then.
    open_until: DateTime<Utc>,
}

impl RecentChange {
    pub fn all(open: &str) -> Result<Vec<Self>, Error> {
        let time = |at| {
            DateTime::from_timestamp(at, 0)
                .ok_or_else(|| Error::internal("a change's time is out of range"))
        };
        let read = |OpenChange { kind, at, until }: OpenChange| {
            Ok(Self { kind, at: time(at)?, open_until: time(until)? })
        };
        changes_sql::parse(open)?.into_iter().map(read).collect()
    }
}

/// Body of `POST /auth/stop-changes`.
#[derive(Deserialize, ToSchema)]
pub struct Stop {
    /// The token from the emailed link.
    #[schema(value_type = String)]
    token: SecretString,
    /// A code or recovery code, when a second factor has been on for three days.
    #[schema(value_type = Option<String>)]
    totp_code: Option<SecretString>,
}

/// Stop changes of the account
///
/// Ends every session and drops a change of the address that waits. The three days of recent changes begin anew. The
/// link works until the change is no longer open.
#[utoipa::path(
    post, path = "/v1/auth/stop-changes", tag = "Account", operation_id = "stopChanges",
    request_body = Stop,
    responses(
        (status = 204, description = "Stopped. A reset of the password takes the changes back"),
        (status = 400, description = "The link is incomplete, or the change isn't open any more", body = PlainError),
        (status = 401, description = "The two-factor code is missing or wrong; the link still works", body = PlainError),
    ),
)]
pub async fn stop(
    State(app): State<Arc<App>>,
    context: RequestContext,
    _: ClientNetwork,
    JsonBody(body): JsonBody<Stop>,
) -> Result<StatusCode, Error> {
    let (secrets, token) = (&app.config.address_secrets, body.token.expose_secret());
    let named = link_token::named(secrets, LinkUse::Stop, token);
    let (account, change) =
        named.and_then(|named| named.split_once('.')).ok_or_else(Error::invalid_change_token)?;
    let account = AccountId::parse(account).ok_or_else(Error::invalid_change_token)?;
    meter::note(|party| party.account = Some(account.to_string()));
    let database = app.databases.of(account)?;
    if !stops_sql::is_stoppable(database, account, change).await? {
        return Err(Error::invalid_change_token());
    }
    let factor = ResetFactor::load(&app, account, body.totp_code.as_ref()).await?;
    let right = factor.ok_or_else(Error::invalid_change_token)?.demand(&app, &context).await?;
    if !stops_sql::stop(database, account, change, &right.code, &context.event()).await? {
        return Err(Error::invalid_change_token());
    }
    right.give_back(&app).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop changes in a session
///
/// Ends every other session, and drops a change of the address or a recovery that waits. The three days of recent
/// changes begin anew: a reset of the password takes them back.
#[utoipa::path(
    post, path = "/v1/me/stop-changes", tag = "Account", operation_id = "stopOwnChanges",
    responses((status = 204, description = "Stopped, or nothing was waiting")),
    security(("Session" = [])),
)]
pub async fn stop_in_session(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
) -> Result<StatusCode, Error> {
    let database = app.databases.of(session.account)?;
    if stops_sql::stop_in_session(database, session, &context.event()).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Error::invalid_session())
    }
}
