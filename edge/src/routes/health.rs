//! Liveness, readiness and the API description.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use futures_util::future::{join, join_all};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    app::{
        App,
        readiness::{Condition, Readiness, Warning},
    },
    cf::clock,
    error::Error,
    extract::request::RequestContext,
    schedule::housekeeping_sql::{self, LastRun},
};

const ORIGIN_TIMEOUT_MS: u32 = 2_000;

/// Seconds without a scheduled run, of which there is one in five minutes.
const SCHEDULE_S: u64 = 15 * 60;

/// An isolate checks at most once in this time.
const READINESS_MS: u64 = 2_000;

/// Response of `GET /health`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    pub status: Condition,
}

/// Health check
///
/// Says that the service runs. It asks no database and no origin.
#[utoipa::path(
    get, path = "/v1/health", tag = "Health", operation_id = "checkHealth",
    responses((status = 200, description = "The service runs", body = Health)),
)]
// Answers whenever the Worker runs and is configured.
pub async fn live() -> Json<Health> {
    Json(Health { status: Condition::Up })
}

/// Readiness check
///
/// Tells whether a check would succeed now: every database answers, and at least one origin works.
#[utoipa::path(
    get, path = "/v1/health/ready", tag = "Health", operation_id = "checkReadiness",
    responses(
        (status = 200, description = "Everything is up", body = Readiness),
        (status = 503, description = "Something is down", body = Readiness),
    ),
)]
// Asks each database and each origin, at most once in two seconds.
pub async fn ready(
    State(app): State<Arc<App>>,
    context: RequestContext,
) -> Result<(StatusCode, Json<Readiness>), Error> {
    let readiness = match app.readiness.get(clock::now_ms(), READINESS_MS) {
        Some(readiness) => readiness,
        None => {
            let readiness = look(&app, &context.id).await?;
            app.readiness.set(clock::now_ms(), readiness.clone());
            readiness
        }
    };
    let is_up = readiness.status == Condition::Up;
    let status = if is_up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok((status, Json(readiness)))
}

async fn look(app: &App, request_id: &str) -> Result<Readiness, Error> {
    let runs = app.databases.in_turn(0).map(|(_, database)| housekeeping_sql::last_run(database));
    let (runs, origins) =
        join(join_all(runs), app.origins.count_working(request_id, ORIGIN_TIMEOUT_MS)).await;
    let (origins_up, origins_total) = origins?;
    let database = runs.iter().all(Result::is_ok);
    let runs: Vec<_> = runs.into_iter().filter_map(Result::ok).collect();
    // A service that has just been deployed hasn't run yet.
    let late = clock::now().saturating_sub(SCHEDULE_S);
    let schedule = runs.iter().all(|run| run.ran_at == 0 || run.ran_at > late);
    let sum = |of: fn(&LastRun) -> u32| runs.iter().map(of).sum();
    let mut warnings = Vec::new();
    if app.config.site.contact().is_none() {
        warnings.push(Warning::NoContact);
    }
    if !app.config.warnings.is_empty() {
        warnings.push(Warning::Settings);
    }
    Ok(Readiness {
        status: Condition::of(database && origins_up > 0 && schedule),
        database: Condition::of(database),
        origins: Condition::of(origins_up > 0),
        origins_up,
        origins_total,
        schedule: Condition::of(schedule),
        emails_waiting: sum(|run| run.emails_waiting),
        scans_waiting: sum(|run| run.scans_waiting),
        warnings,
    })
}

/// The OpenAPI document's own type, as far as this document describes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Document {
    openapi: String,
}

/// Get the description
///
/// The description of the operations that a program calls, for code generators.
#[utoipa::path(
    get, path = "/v1/openapi.json", tag = "Health", operation_id = "showDescription",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Document)),
)]
pub async fn openapi(
    State(app): State<Arc<App>>,
) -> Result<([(HeaderName, &'static str); 1], String), Error> {
    let document = app.assets.openapi().await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}

/// Get the whole description
///
/// The description of all operations, also of those that only the portal calls, with the webhooks.
#[utoipa::path(
    get, path = "/v1/openapi-account.json", tag = "Health", operation_id = "showWholeDescription",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Document)),
)]
pub async fn openapi_account(
    State(app): State<Arc<App>>,
) -> Result<([(HeaderName, &'static str); 1], String), Error> {
    let document = app.assets.openapi_account().await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}
