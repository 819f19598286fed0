//! `POST /v1/probe`, and the steps it shares with batches: the ticket, the body, the log.

use std::{sync::Arc, time::Duration};

use axum::{
    Extension, Json, RequestExt as _,
    body::Bytes,
    extract::{self, Request, rejection::BytesRejection},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse as _, Response},
};
use rcpt_pool::{Asker, Question};
use rcpt_shared::{
    AWAITED_HEADER, CacheTimes, ProbeRequest, REMEMBER_HEADER, Stage, Ticket, Verdict, bearer_token,
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use super::{Error, RequestId, connection::Connection};
use crate::{
    State,
    surroundings::{milliseconds, unix_now},
    telemetry::refused_tickets::Refused,
};

/// The edge sends the body right after the headers.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Handles `POST /v1/probe {address}`: 200 with a verdict for any behaviour of a mail
/// server or DNS.
///
/// 1. the ticket: 401; the body's size: 413; the ticket's hash of the body: 401; the body: 400
/// 2. nameservers, if known to be silent, and port 25, if known to be blocked: 503; and a cached verdict
/// 3. a permit, within the tenant's share: 503 with `Retry-After`
/// 4. the probe
/// 5. if connecting failed while port 25 is blocked, no verdict: 503 with `Retry-After`
pub(super) async fn probe(
    extract::State(state): extract::State<Arc<State>>,
    Extension(given_id): Extension<RequestId>,
    request: Request,
) -> Result<Response, Error> {
    let remember = request.headers().get(REMEMBER_HEADER).and_then(|value| value.to_str().ok());
    let remember = remember.and_then(CacheTimes::parse);
    let awaited_until = awaited_until(&request);
    // 1, 2
    // Boxed: a waiting probe would otherwise keep the memory in which its body was read.
    let admitted = Box::pin(admit(&state, given_id, request)).await?;
    let (ProbeRequest { address }, asker, id) = admitted;
    let question = Question { asker, ..state.prober.question(address) };
    let Question { address, asker, .. } = &question;
    if remember.is_some()
        && let Some(verdict) = state.verdicts.recall(address)
    {
        let (request_id, tenant) = (id.as_str(), asker.account.as_deref());
        tracing::info!(request_id, tenant, status = verdict.status.as_str(), "remembered");
        return Ok(answer(&id, verdict));
    }
    let verdict = ask_one(&state, (&question, awaited_until), &id).await?;
    if let Some(times) = remember {
        state.verdicts.remember(address, &verdict, times);
    }
    Ok(answer(&id, verdict))
}

/// Runs steps 3 to 5 of a single check.
///
/// # Errors
/// [`Error::AtCapacity`], [`Error::PortShut`].
pub async fn ask_one(
    state: &State,
    (question, awaited_until): (&Question, Option<Instant>),
    id: &RequestId,
) -> Result<Verdict, Error> {
    let started = Instant::now();
    // 3
    let entry = state.probes.enter_within(&question.asker, state.permits.available_permits());
    let (Some(_entry), Ok(_permit)) = (entry, state.permits.try_acquire()) else {
        state.metrics.at_capacity();
        tracing::warn!(request_id = id.as_str(), "at capacity");
        return Err(Error::AtCapacity);
    };
    // 4
    let in_flight = state.metrics.start();
    let verdict = state.prober.probe(question, awaited_until).await;
    drop(in_flight);
    // 5
    if state.blames_port(&verdict).await {
        return Err(Error::PortShut);
    }
    record(state, id, question, &verdict, started.elapsed());
    Ok(verdict)
}

pub(super) fn awaited_until(request: &Request) -> Option<Instant> {
    Instant::now().checked_add(milliseconds_of(request, AWAITED_HEADER)?)
}

pub(super) fn milliseconds_of(request: &Request, header: &str) -> Option<Duration> {
    request.headers().get(header)?.to_str().ok()?.parse().ok().map(Duration::from_millis)
}

fn answer(id: &RequestId, verdict: Verdict) -> Response {
    let mut response = Json(verdict).into_response();
    id.write(response.headers_mut());
    response
}

pub(super) async fn admit<B: DeserializeOwned>(
    state: &State,
    given_id: RequestId,
    mut request: Request,
) -> Result<(B, Asker, RequestId), Error> {
    let secrets = state.prober.config().ticket_secrets.clone();
    let token = token(request.headers()).unwrap_or_default();
    let now = unix_now();
    let ticket = Ticket::open(&secrets, token, now)
        .map_err(|_| bad_ticket(state, Refused::of(&secrets, token, now)))?;
    // Only the edge may fill our memory with bodies.
    if let Some(connection) = request.extensions().get::<Connection>() {
        connection.prove();
    }
    let body = read(&mut request).await?;
    if !ticket.is_for(&body) {
        return Err(bad_ticket(state, Refused::WrongSignature));
    }
    let unread = |_| Error::NoRequest { secrets: secrets.ids().count() };
    let body = serde_json::from_slice(&body).map_err(unread)?;
    let id = RequestId::parse(&ticket.jti).unwrap_or(given_id);
    if state.prober.dns().root().is_silent() {
        return Err(Error::NoNameserver);
    }
    if state.port_check.is_known_shut() {
        return Err(Error::PortShut);
    }
    let asker = Asker {
        account: ticket.tenant().map(Arc::from),
        fairness_group: ticket.counted_as().map(Arc::from),
    };
    Ok((body, asker, id))
}

fn bad_ticket(state: &State, refused: Refused) -> Error {
    state.metrics.bad_ticket();
    state.refused_tickets.log(refused);
    Error::BadTicket
}

fn token(headers: &HeaderMap) -> Option<&str> {
    bearer_token(headers.get(AUTHORIZATION)?.to_str().ok()?)
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

/// Log and counters never contain the address, its domain or the host's name.
pub(super) fn record(
    state: &State,
    id: &RequestId,
    question: &Question,
    verdict: &Verdict,
    took: Duration,
) {
    let prober = &state.prober;
    let operator = match verdict.mx_host.as_deref() {
        Some(host) => prober.config().operators.label(host),
        None => Arc::from("none"),
    };
    // A verdict that was reached with DNS alone has no source address.
    let is_asked = verdict.stage > Stage::Dns;
    let source = is_asked.then(|| prober.source(question, verdict.mx_host.as_deref()));
    state.metrics.finished(verdict, &operator, took);
    tracing::info!(
        request_id = id.as_str(),
        tenant = question.asker.account.as_deref(),
        status = verdict.status.as_str(),
        reason = verdict.reason.as_str(),
        stage = verdict.stage.as_str(),
        operator = &*operator,
        source = source.as_deref(),
        tls = verdict.details.as_ref().and_then(|details| details.tls),
        smtp_code = verdict.smtp_code,
        duration_ms = milliseconds(took),
        "probe"
    );
}
