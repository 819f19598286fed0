//! Liveness, readiness and the API description.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use futures_util::future::join_all;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{app::App, cf::clock, error::Error, store::housekeeping};

const ORIGIN_TIMEOUT_MS: u32 = 2_000;

/// An isolate checks at most once in this time.
const READINESS_MS: u64 = 2_000;

/// Response of `GET /health`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    pub status: Condition,
}

/// Response of `GET /health/ready`: 200 when everything is up, 503 otherwise.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    pub status: Condition,
    // Up while all databases are up.
    pub database: Condition,
    /// Up while at least one origin is.
    pub origins: Condition,
    /// Settings that the operator has left out and the service runs without. Absent if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schema(required = false)]
    pub warnings: &'static [Warning],
}

/// A setting that the operator should add.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// Customers have nobody to ask.
    NoContact,
}

/// State of a part of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Up,
    Down,
}

impl Condition {
    const fn of(up: bool) -> Self {
        if up { Self::Up } else { Self::Down }
    }
}

/// Health check
///
/// Says that the service runs. It asks no database and no origin.
#[utoipa::path(
    get, path = "/v1/health", tag = "Health", operation_id = "health",
    responses((status = 200, description = "The service runs", body = Health)),
)]
// Answers whenever the Worker runs and is configured.
pub async fn live() -> Json<Health> {
    Json(Health { status: Condition::Up })
}

/// Readiness check
///
/// Says whether every database answers and at least one origin does.
#[utoipa::path(
    get, path = "/v1/health/ready", tag = "Health", operation_id = "ready",
    responses(
        (status = 200, description = "Everything is up", body = Readiness),
        (status = 503, description = "Something is down", body = Readiness),
    ),
)]
// Answers 200 if every database and at least one origin answer.
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let last_readiness = app.readiness.get(clock::now_ms(), READINESS_MS);
    let (database, origins) = match last_readiness {
        Some(last_readiness) => last_readiness,
        None => {
            let pings = app.databases.in_turn(0).map(|(_, database)| housekeeping::ping(database));
            let database = join_all(pings).await.iter().all(Result::is_ok);
            let origins = app.origins.is_any_alive(ORIGIN_TIMEOUT_MS).await;
            app.readiness.set(clock::now_ms(), (database, origins));
            (database, origins)
        }
    };
    let ready = database && origins;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness {
        status: Condition::of(ready),
        database: Condition::of(database),
        origins: Condition::of(origins),
        warnings: if app.config.site.contact().is_some() { &[] } else { &[Warning::NoContact] },
    };
    (status, Json(readiness))
}

/// The OpenAPI document's own type, as far as this document describes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Document {
    openapi: String,
}

/// Get this document
///
/// The description of these operations, for code generators and other programs.
#[utoipa::path(
    get, path = "/v1/openapi.json", tag = "Health", operation_id = "openapi",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = Document)),
)]
pub async fn openapi(
    State(app): State<Arc<App>>,
) -> Result<([(HeaderName, &'static str); 1], String), Error> {
    let document = app.assets.openapi().await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}
