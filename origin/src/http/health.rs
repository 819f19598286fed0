//! `GET /health`, `/ready`, `/metrics` and `/operators`.

use std::sync::Arc;

use axum::{
    Json, extract,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::Error;
use crate::State;

/// `GET /health`: the process is alive.
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// `GET /ready`: 200 when a nameserver answers and port 25 is not known to be shut, else 503.
pub(super) async fn ready(
    extract::State(state): extract::State<Arc<State>>,
) -> Result<Json<Value>, Error> {
    if !state.prober.dns().is_reachable().await {
        return Err(Error::NoNameserver);
    }
    if !state.port_check.is_open().await {
        return Err(Error::PortShut);
    }
    Ok(Json(json!({ "status": "ready" })))
}

/// `GET /metrics`: OpenMetrics text.
pub(super) async fn metrics(
    extract::State(state): extract::State<Arc<State>>,
) -> Result<Response, Error> {
    state.metrics.show(&state.prober.status());
    let text = state.metrics.text().map_err(|_| Error::Internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}

/// `GET /operators`: what is asked of each operator from each source address, and how we are received.
pub(super) async fn operators(
    extract::State(state): extract::State<Arc<State>>,
) -> Json<crate::pool::Status> {
    Json(state.prober.status())
}
