//! The account's plan: its end, and where to buy another plan.

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    credentials::{account_reference, session::Session},
    error::Error,
    ledger::plans,
};

/// Response of `GET /me/plan`.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanReport {
    /// Name of the plan.
    plan: String,
    /// Time at which the plan ends and the account returns to `free`; null if it has no end.
    until: Option<DateTime<Utc>>,
    /// Name of the account for the operator and their payment provider. It reveals nothing about its owner.
    reference: String,
    /// The other plans that can be bought online.
    checkouts: Vec<PlanCheckout>,
}

/// Checkout page of a plan.
#[derive(Debug, Serialize, ToSchema)]
struct PlanCheckout {
    /// Name of the plan.
    plan: String,
    /// The payment provider's page. It carries the `reference`, and never an email.
    #[schema(format = "uri")]
    url: String,
}

/// Get the plan
///
/// The plan, when it ends, and where another one can be bought.
#[utoipa::path(
    get, path = "/v1/me/plan", tag = "Account", operation_id = "plan",
    responses((status = 200, description = "The plan", body = PlanReport)),
    security(("Session" = [])),
)]
pub async fn show(
    State(app): State<Arc<App>>,
    session: Session,
) -> Result<Json<PlanReport>, Error> {
    let plan_row = plans::of_session(app.databases.of(session.account)?, session).await?;
    let plan = plan_row.ok_or_else(Error::invalid_session)?;
    let reference = account_reference::of(&app.config.api_key_secrets, session.account);
    let site = &app.config.site;
    let others = site.checkouts.iter().filter(|checkout| checkout.plan != plan.plan);
    let checkouts = others
        .filter_map(|checkout| {
            let url = site.checkout(&checkout.plan, &reference)?;
            Some(PlanCheckout { plan: checkout.plan.clone(), url })
        })
        .collect();
    let until = plan.until.and_then(|until| DateTime::from_timestamp(until, 0));
    Ok(Json(PlanReport { plan: plan.plan, until, reference, checkouts }))
}
