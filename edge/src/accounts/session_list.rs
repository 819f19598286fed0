//! The sessions of an account: its owner can list them and end any of them.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::sessions_sql::{self, EndOutcome, SessionRow};
use crate::{
    app::App,
    cf::clock,
    credentials::session::{Session, SessionId},
    error::{Error, PlainError},
    extract::request::RequestContext,
};

/// The sessions of the account.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sessions {
    /// This session first, then by last use; at most 20.
    sessions: Vec<SignedIn>,
}

/// A browser or program that is signed in.
#[derive(Debug, Serialize, ToSchema)]
pub struct SignedIn {
    /// Id with which the session can be ended.
    id: String,
    /// Time of the sign-in.
    created_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    /// Such as `Firefox on Linux`.
    browser: String,
    /// Two letters (ISO 3166), such as `DE`. Null when it isn't known.
    country: Option<String>,
    /// True for the session of this request.
    current: bool,
}

/// List sessions
///
/// Where the account is signed in.
#[utoipa::path(
    get, path = "/v1/auth/sessions", tag = "Account", operation_id = "listSessions",
    responses((status = 200, description = "The sessions", body = Sessions)),
    security(("Session" = [])),
)]
pub async fn list(State(app): State<Arc<App>>, session: Session) -> Result<Json<Sessions>, Error> {
    let listed =
        sessions_sql::list(app.databases.of(session.account)?, session, clock::now()).await?;
    // The list would contain the requesting session if it were alive.
    if listed.is_empty() {
        return Err(Error::invalid_session());
    }
    let sessions = listed.into_iter().map(SignedIn::of).collect::<Result<_, _>>()?;
    Ok(Json(Sessions { sessions }))
}

impl SignedIn {
    fn of(listed: SessionRow) -> Result<Self, Error> {
        let time = |seconds| {
            let time = DateTime::from_timestamp(seconds, 0);
            time.ok_or_else(|| Error::internal("a session's time is out of range"))
        };
        Ok(Self {
            created_at: time(listed.created_at)?,
            expires_at: time(listed.expires_at)?,
            id: listed.id,
            browser: listed.browser,
            country: Some(listed.country).filter(|country| !country.is_empty()),
            current: listed.current != 0,
        })
    }
}

/// End a session
///
/// Signs out one browser or program. Its token stops working immediately.
#[utoipa::path(
    delete, path = "/v1/auth/sessions/{id}", tag = "Account", operation_id = "endSession",
    params(("id" = String, Path, description = "The `id` from the list of sessions")),
    responses(
        (status = 204, description = "The session has ended"),
        (status = 404, description = "The account has no such session", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn end(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
    Path(id): Path<String>,
) -> Result<StatusCode, Error> {
    // A malformed id is looked up like that of a missing session, so that the caller is verified
    // first.
    let id = SessionId::parse(&id).unwrap_or(SessionId::from_random([0; 16]));
    let database = app.databases.of(session.account)?;
    match sessions_sql::end_one(database, session, id, &context.event()).await? {
        EndOutcome::Done => Ok(StatusCode::NO_CONTENT),
        EndOutcome::NoSuchSession => Err(Error::no_such_session()),
        EndOutcome::Unauthorised => Err(Error::invalid_session()),
    }
}
