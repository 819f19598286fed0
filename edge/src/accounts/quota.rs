//! The plan and the remaining allowances.

use std::sync::Arc;

use axum::{Json, extract::State, http::HeaderMap};

use crate::{
    app::App,
    cf::clock,
    credentials::proof::Caller,
    error::{Error, rate_limit::RateLimit},
    extract::caller::shield,
    ledger::charge,
    limits::quota::{Day, QuotaReport, seconds_to_reset},
};

/// Get plan and allowances
///
/// The plan's daily allowances, and what is left until 00:00 UTC.
#[utoipa::path(
    get, path = "/v1/me/quota", tag = "Quota", operation_id = "showQuota",
    responses(
        (status = 200, description = "The report", body = QuotaReport),
    ),
    security(("ApiKey" = []), ("Session" = [])),
)]
pub async fn report(
    State(app): State<Arc<App>>,
    caller: Caller,
) -> Result<(HeaderMap, Json<QuotaReport>), Error> {
    shield(&app, caller).await?;
    let now = clock::now();
    let usage = charge::usage(app.databases.of(caller.account)?, caller, now).await?;
    let usage = usage.ok_or_else(|| caller.proof.to_error())?;
    let welcome = usage.welcome_checks;
    let report = QuotaReport::new(usage, Day::of(now));
    let mut headers = HeaderMap::new();
    if !report.unlimited {
        let (checks, scans) = (&report.email_checks, &report.scans);
        let (daily, credits) = (scans.daily_allowance, scans.credits);
        let of_scans = format!("{daily} {} {credits} {credits}", scans.left_today);
        let ledger = format!(
            "{} {} {welcome} {}",
            checks.daily_allowance, checks.left_today, checks.welcome_left
        );
        let seconds = seconds_to_reset(now);
        let scans = RateLimit::of_scans(&of_scans, seconds);
        if let (Some(checks), Some(scans)) = (RateLimit::of_checks(&ledger, seconds), scans) {
            checks.and(&scans).insert(&mut headers);
        }
    }
    Ok((headers, Json(report)))
}
