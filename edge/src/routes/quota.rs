//! The plan and what is left of its allowances.

use std::sync::Arc;

use axum::{Json, extract::State};

use crate::{
    app::App,
    cf::clock,
    credentials::proof::Caller,
    error::{Error, PlainError},
    quota::{Day, QuotaReport},
    store::ledger,
};

/// Plan and allowances
#[utoipa::path(
    get, path = "/v1/me/quota", tag = "Quota", operation_id = "quota",
    responses(
        (status = 200, description = "The report", body = QuotaReport),
        (status = 401, description = "No valid key or session", body = PlainError),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<Json<QuotaReport>, Error> {
    let now = clock::now();
    let usage = ledger::usage(&app.database, caller, now).await?;
    let usage = usage.ok_or_else(|| caller.proof.refused())?;
    Ok(Json(QuotaReport::new(usage, Day::of(now))))
}
