//! Ending a recovery that an operator has started for an owner without the second factor.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};

use crate::{
    app::App, credentials::session::Session, error::Error, extract::request::RequestContext,
    store::recoveries,
};

/// Stop the recovery
///
/// Ends a recovery of the account that an operator has started: two-factor authentication stays on. Signing in does so too.
#[utoipa::path(
    delete, path = "/v1/me/recovery", tag = "Account", operation_id = "stopRecovery",
    responses((status = 204, description = "No recovery is pending any more, or none was")),
    security(("Session" = [])),
)]
pub async fn stop(
    State(app): State<Arc<App>>,
    context: RequestContext,
    session: Session,
) -> Result<StatusCode, Error> {
    let database = app.databases.of(session.account)?;
    if !recoveries::stop(database, session).await? {
        return Err(Error::invalid_session());
    }
    context.notify(&app, session.account);
    Ok(StatusCode::NO_CONTENT)
}
