//! Passkeys of an account: listing and removing them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    passkey::PasskeyId,
    passkeys_sql::{self, NewPasskey, PasskeyOutcome, StoredPasskey},
};
use crate::{
    app::App,
    credentials::session::Session,
    error::{Error, PlainError},
    extract::request::RequestContext,
    limits::quota::date_time,
};

/// A passkey of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct Passkey {
    /// Names the passkey, such as `pk_0123456789abcdef0123456789abcdef`.
    id: String,
    name: String,
    created_at: DateTime<Utc>,
    /// Null before the first use.
    last_used_at: Option<DateTime<Utc>>,
    /// True if it can be on several devices.
    syncable: bool,
}

impl Passkey {
    pub fn new(new: &NewPasskey<'_>) -> Self {
        Self {
            id: new.id.to_string(),
            name: new.name.to_owned(),
            created_at: date_time(new.created_at),
            last_used_at: None,
            syncable: new.is_syncable,
        }
    }

    fn of(stored: StoredPasskey) -> Self {
        Self {
            id: format!("pk_{}", stored.id),
            name: stored.name,
            created_at: date_time(stored.created_at),
            last_used_at: (stored.used_at > 0).then(|| date_time(stored.used_at)),
            syncable: stored.is_syncable != 0,
        }
    }
}

/// The passkeys of an account.
#[derive(Debug, Serialize, ToSchema)]
pub struct PasskeyList {
    /// Oldest first; at most 20.
    passkeys: Vec<Passkey>,
}

/// List the passkeys
///
/// Their names and times, without their keys.
#[utoipa::path(
    get, path = "/v1/auth/passkeys", tag = "Passkeys", operation_id = "listPasskeys",
    responses((status = 200, description = "The passkeys", body = PasskeyList)),
    security(("Session" = [])),
)]
pub async fn list(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<PasskeyList>, Error> {
    let listed = passkeys_sql::list(app.databases.of(session.account)?, session).await?;
    let listed = listed.ok_or_else(Error::invalid_session)?.into_iter().map(Passkey::of);
    Ok(Json(PasskeyList { passkeys: listed.collect() }))
}

/// A malformed id becomes one without a passkey, so that the caller is verified first.
fn id_of(shown: &str) -> PasskeyId {
    PasskeyId::parse_shown(shown).unwrap_or_else(|| PasskeyId::of(&[]))
}

/// Remove a passkey
///
/// It can't sign in any more. Sessions that it has started continue.
#[utoipa::path(
    delete, path = "/v1/auth/passkeys/{id}", tag = "Passkeys", operation_id = "removePasskey",
    params(("id" = String, Path, description = "The `id` from the list of passkeys")),
    responses(
        (status = 204, description = "The passkey is removed"),
        (status = 404, description = "The account has no such passkey", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn remove(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
    Path(id): Path<String>,
) -> Result<StatusCode, Error> {
    let database = app.databases.of(session.account)?;
    match passkeys_sql::remove(database, session, &id_of(&id)).await? {
        PasskeyOutcome::Done => {}
        PasskeyOutcome::NoSuchPasskey => return Err(Error::no_such_passkey()),
        PasskeyOutcome::Refused => return Err(Error::invalid_session()),
    }
    context.notify(&app, session.account);
    Ok(StatusCode::NO_CONTENT)
}
