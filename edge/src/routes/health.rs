//! Liveness, readiness and the API description.

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;

use crate::{app::App, cf::origin, store::housekeeping};

/// Milliseconds an origin has to answer its health check.
const ORIGIN_TIMEOUT_MS: u32 = 2_000;

/// Answer of `GET /health`.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Health {
    pub status: Condition,
}

/// Answer of `GET /health/ready`: 200 when everything is up, 503 otherwise.
#[derive(Debug, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
pub struct Readiness {
    pub status: Condition,
    pub database: Condition,
    /// Up while at least one origin is.
    pub origins: Condition,
}

/// Whether a part of the service works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(utoipa::ToSchema))]
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

/// The Worker runs and is configured.
pub async fn live() -> Json<Health> {
    Json(Health { status: Condition::Up })
}

/// The Worker can do its job: database and at least one origin answer.
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, Json<Readiness>) {
    let database = housekeeping::ping(&app.database).await.is_ok();
    let mut origins = false;
    for origin in &app.config.origins {
        origins = origins || origin::is_alive(origin, ORIGIN_TIMEOUT_MS).await;
    }
    let ready = database && origins;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let readiness = Readiness {
        status: Condition::of(ready),
        database: Condition::of(database),
        origins: Condition::of(origins),
    };
    (status, Json(readiness))
}

/// The OpenAPI 3.1 document, generated from the handlers' types by `cargo test -p rcpt-edge`.
pub async fn openapi() -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/json")],
        include_str!(concat!(env!("OUT_DIR"), "/openapi.json")),
    )
}
