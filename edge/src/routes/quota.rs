//! The plan and what is left of its allowances.

use std::sync::Arc;

use axum::{Json, extract::State};

use crate::{
    app::App,
    cf::clock,
    credentials::proof::Caller,
    error::{Error, PlainError},
    extract::caller::shield,
    quota::{Day, QuotaReport},
    store::ledger,
};

/// Get plan and allowances
#[utoipa::path(
    get, path = "/v1/me/quota", tag = "Quota", operation_id = "quota",
    responses(
        (status = 200, description = "The report", body = QuotaReport),
        (status = 401, description = "The API key or session is missing or no longer valid", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<QuotaReport>, Error> {
    shield(&app, caller.account).await?;
    let now = clock::now();
    let usage = ledger::usage(app.databases.of(caller.account)?, caller, now).await?;
    let usage = usage.ok_or_else(|| caller.proof.refused())?;
    Ok(Json(QuotaReport::new(usage, Day::of(now))))
}
