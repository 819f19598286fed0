//! `POST /v1/domain`: the kind of a domain, from the lists and DNS. No mail server is contacted.

use std::sync::Arc;

use axum::{
    Extension, Json, extract,
    extract::Request,
    response::{IntoResponse as _, Response},
};
use rcpt_shared::{Address, DomainReport, DomainRequest};
use tokio::time::Instant;

use super::{Error, RequestId, probe::admit};
use crate::{State, surroundings::milliseconds};

/// Handles `POST /v1/domain {domain}`: 200 with a [`DomainReport`].
///
/// 1. the ticket, which contains the body's hash: 401; the body: 400, 413; port 25, if known to be blocked: 503
/// 2. a permit, within the tenant's share: 503 with `Retry-After`
/// 3. DNS; 503 if no nameserver responds and no list contains the domain
pub(super) async fn domain(
    extract::State(state): extract::State<Arc<State>>,
    Extension(given_id): Extension<RequestId>,
    request: Request,
) -> Result<Response, Error> {
    let started = Instant::now();
    // 1
    let (DomainRequest { domain }, asker, id) = admit(&state, given_id, request).await?;
    // The edge sends the normal form; any other form would be looked up unchanged.
    let address = Address::parse(&format!("a@{domain}")).map_err(|_| Error::Malformed)?;
    if address.domain() != domain {
        return Err(Error::Malformed);
    }
    // 2
    let entry = state.probes.enter_within(&asker, state.permits.available_permits());
    let (Some(_entry), Ok(_permit)) = (entry, state.permits.try_acquire()) else {
        state.metrics.at_capacity();
        tracing::warn!(request_id = id.as_str(), "at capacity");
        return Err(Error::AtCapacity);
    };
    // 3
    let report: DomainReport =
        state.prober.domain_report(&domain).await.ok_or(Error::NoNameserver)?;
    tracing::info!(
        request_id = id.as_str(),
        tenant = asker.account.as_deref(),
        kind = report.facts.kind.as_str(),
        duration_ms = milliseconds(started.elapsed()),
        "domain"
    );
    let mut response = Json(report).into_response();
    id.write(response.headers_mut());
    Ok(response)
}
