//! `GET /v1/me/quota` (interface §4.7).

use std::sync::Arc;

use axum::{Json, extract::State};

use crate::{
    app::App,
    caller::Caller,
    cf::clock,
    error::Error,
    quota::{Day, QuotaReport},
    store::ledger,
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
