//! Public facts about the service: contact, terms, and the limits of each plan.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderName, header},
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    cf::clock,
    error::Error,
    ledger::plans::{self, PlanSizes},
};

/// Clients may cache the response as long as an isolate caches the plans.
const PLANS_TTL_MS: u64 = 300_000;
const CACHE_CONTROL: &str = "public, max-age=300";

/// Response of `GET /site`.
#[derive(Debug, Serialize, ToSchema)]
pub struct SiteReport {
    contact: Contact,
    /// Terms of service.
    #[schema(format = "uri")]
    terms_url: Option<String>,
    /// Status page.
    #[schema(format = "uri")]
    status_url: Option<String>,
    /// The plans, the smallest first.
    plans: Vec<SitePlan>,
}

/// Contact for questions.
#[derive(Debug, Serialize, ToSchema)]
struct Contact {
    #[schema(format = "uri")]
    url: Option<String>,
    #[schema(format = "email")]
    email: Option<String>,
}

/// The limits of a plan.
#[derive(Debug, Serialize, ToSchema)]
struct SitePlan {
    name: String,
    /// True if there is no daily limit.
    unlimited: bool,
    /// Email checks a day; null on an unlimited plan.
    daily_checks: Option<u32>,
    /// Email checks that are granted once, when the address is confirmed.
    welcome_checks: u32,
    /// Email checks at the same time.
    checks_in_flight: u32,
    /// Scans a day; null on an unlimited plan.
    daily_scans: Option<u32>,
    /// Addresses that one scan may have.
    scan_size: u32,
    /// Scans at the same time.
    scans_at_once: u32,
    /// True if the plan can be bought online: then `GET /v1/me/plan` has the link.
    checkout: bool,
}

impl SitePlan {
    fn new(plan: &PlanSizes, has_checkout: bool) -> Self {
        let limit = |number| (plan.unlimited == 0).then_some(number);
        Self {
            name: plan.name.clone(),
            unlimited: plan.unlimited != 0,
            daily_checks: limit(plan.daily_checks),
            welcome_checks: plan.welcome_checks,
            checks_in_flight: plan.max_in_flight,
            daily_scans: limit(plan.daily_scans),
            scan_size: plan.scan_size,
            scans_at_once: plan.max_scans,
            checkout: has_checkout,
        }
    }
}

/// Get contact and plans
///
/// Contact, terms, status page, and the limits of each plan. May be cached for five minutes.
#[utoipa::path(
    get, path = "/v1/site", tag = "Service", operation_id = "showSite",
    responses((status = 200, description = "The service's contact and plans", body = SiteReport)),
)]
pub async fn site(
    State(app): State<Arc<App>>,
) -> Result<([(HeaderName, &'static str); 1], Json<SiteReport>), Error> {
    let plans = known_plans(&app).await?;
    let site = &app.config.site;
    let sold = |plan: &PlanSizes| site.checkouts.iter().any(|checkout| checkout.plan == plan.name);
    let report = SiteReport {
        contact: Contact { url: site.contact_url.clone(), email: site.contact_email.clone() },
        terms_url: site.terms_url.clone(),
        status_url: site.status_url.clone(),
        plans: plans.iter().map(|plan| SitePlan::new(plan, sold(plan))).collect(),
    };
    Ok(([(header::CACHE_CONTROL, CACHE_CONTROL)], Json(report)))
}

async fn known_plans(app: &App) -> Result<Arc<[PlanSizes]>, Error> {
    if let Some(plans) = app.plans.get(clock::now_ms(), PLANS_TTL_MS) {
        return Ok(plans);
    }
    let plans: Arc<[PlanSizes]> = plans::all(app.databases.directory()).await?.into();
    app.plans.set(clock::now_ms(), Arc::clone(&plans));
    Ok(plans)
}
