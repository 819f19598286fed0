//! `GET /health`, `/ready`, `/metrics` and `/operators`.

use std::sync::Arc;

use axum::{
    Json, extract,
    http::{
        HeaderMap,
        header::{ACCEPT, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::Error;
use crate::{
    State,
    doctor::addresses,
    telemetry::{exposition::Exposition, status::OriginStatus},
};

pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// Handles `GET /ready`: 200 if a nameserver answers for the root and port 25 is open or isn't checked,
/// otherwise 503. `reasons` lists why mail servers may refuse us.
pub(super) async fn ready(
    extract::State(state): extract::State<Arc<State>>,
) -> Result<Json<Value>, Error> {
    if !state.prober.dns().root().answers().await {
        return Err(Error::NoNameserver);
    }
    if !state.port_check.is_open().await {
        return Err(Error::PortShut);
    }
    let reasons = addresses::reasons(&state, &state.prober.status());
    Ok(Json(json!({ "status": "ready", "reasons": reasons })))
}

pub(super) async fn metrics(
    extract::State(state): extract::State<Arc<State>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let exposition = Exposition::accepted_by(accept);
    let status = state.prober.status();
    let reasons = addresses::reasons(&state, &status);
    let certificate =
        state.certificate.load().as_ref().and_then(|certificate| certificate.validity);
    let text = state.metrics.text(&status, &state.port_check, &reasons, certificate);
    let text = exposition.write(text.map_err(|_| Error::Internal)?);
    Ok(([(CONTENT_TYPE, exposition.content_type())], text).into_response())
}

pub(super) async fn operators(
    extract::State(state): extract::State<Arc<State>>,
) -> Json<OriginStatus> {
    let pool = state.prober.status();
    let sources = addresses::sources(&state, &pool);
    Json(OriginStatus { pool, sources })
}
