//! `POST /v1/probe`, and what it shares with the batch: the ticket, the body, the record.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json, RequestExt as _,
    body::Bytes,
    extract::{self, Request, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse as _, Response},
};
use rcpt_shared::{ProbeRequest, Ticket, Verdict};
use tokio::time::{Instant, timeout};

use super::{Error, request_id::RequestId};
use crate::{
    State,
    clock::{self, milliseconds},
    telemetry::metrics::stage_name,
};

/// The edge sends the body with the headers.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// `POST /v1/probe {address, details?}`: 200 with a verdict for anything a remote server or DNS does.
///
/// 1. the ticket, which is bound to the body: 401
/// 2. the body: 400, 413
/// 3. a permit: 503 with `Retry-After`
/// 4. the probe
pub(super) async fn probe(
    extract::State(state): extract::State<Arc<State>>,
    Extension(given_id): Extension<RequestId>,
    request: Request,
) -> Result<Response, Error> {
    let started = Instant::now();
    // 1
    let (body, id) = admitted(&state, given_id, request).await?;
    // 2
    let ProbeRequest { address, details } =
        serde_json::from_slice(&body).map_err(|_| Error::Malformed)?;
    // 3
    let Ok(_permit) = state.permits.try_acquire() else {
        state.metrics.at_capacity();
        tracing::warn!(request_id = id.as_str(), "at capacity");
        return Err(Error::AtCapacity);
    };
    // 4
    let in_flight = state.metrics.start();
    let verdict = state.prober.probe(&address, details).await;
    drop(in_flight);
    record(&state, &id, &verdict, started.elapsed());
    let mut response = Json(verdict).into_response();
    id.write(response.headers_mut());
    Ok(response)
}

/// The body of a request with a good ticket for it, and the id to log it under.
pub(super) async fn admitted(
    state: &State,
    given_id: RequestId,
    mut request: Request,
) -> Result<(Bytes, RequestId), Error> {
    let token = bearer(request.headers()).ok_or_else(|| bad_ticket(state))?.to_owned();
    let body = read(&mut request).await?;
    let secrets = &state.prober.config().ticket_secrets;
    let ticket =
        Ticket::check(secrets, &token, &body, clock::unix_now()).map_err(|_| bad_ticket(state))?;
    let id = RequestId::parse(&ticket.jti).unwrap_or(given_id);
    Ok((body, id))
}

fn bad_ticket(state: &State) -> Error {
    state.metrics.bad_ticket();
    Error::BadTicket
}

/// RFC 6750 §2.1; the scheme is case-insensitive (RFC 9110 §11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

async fn read(request: &mut Request) -> Result<Bytes, Error> {
    let reading = std::mem::take(request).extract::<Bytes, _>();
    match timeout(BODY_TIMEOUT, reading).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) => Err(unreadable(&rejection)),
        Err(_) => Err(Error::Slow),
    }
}

fn unreadable(rejection: &BytesRejection) -> Error {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        Error::TooLarge
    } else {
        Error::Malformed
    }
}

/// The log line and the counters. Neither knows the address, its domain or the host's name.
pub(super) fn record(state: &State, id: &RequestId, verdict: &Verdict, took: Duration) {
    state.metrics.finished(verdict, took);
    tracing::info!(
        request_id = id.as_str(),
        status = verdict.status.as_str(),
        reason = verdict.reason.as_str(),
        stage = stage_name(verdict.stage),
        duration_ms = milliseconds(took),
        "probe"
    );
}
