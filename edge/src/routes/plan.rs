//! The account's plan: until when, and where another one can be bought.

use std::sync::Arc;

use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    credentials::{account_reference, session::Session},
    error::Error,
    store::plans,
};

/// Response of `GET /me/plan`.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanReport {
    /// Name of the plan.
    plan: String,
    /// When the plan ends and the account is on `free` again; null where it has no end.
    until: Option<DateTime<Utc>>,
    /// Names the account to the operator and to their payment provider. It tells nothing of its owner.
    reference: String,
    /// The other plans that can be bought online.
    checkouts: Vec<PlanCheckout>,
}

/// Where a plan is bought.
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
    let found = plans::of_session(app.databases.of(session.account)?, session).await?;
    let found = found.ok_or_else(Error::invalid_session)?;
    let reference = account_reference::of(&app.config.api_key_secrets, session.account);
    let site = &app.config.site;
    let others = site.checkouts.iter().filter(|checkout| checkout.plan != found.plan);
    let checkouts = others
        .filter_map(|checkout| {
            let url = site.checkout(&checkout.plan, &reference)?;
            Some(PlanCheckout { plan: checkout.plan.clone(), url })
        })
        .collect();
    let until = found.until.and_then(|until| DateTime::from_timestamp(until, 0));
    Ok(Json(PlanReport { plan: found.plan, until, reference, checkouts }))
}
