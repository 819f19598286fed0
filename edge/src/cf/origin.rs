//! Asks the origins for a verdict (architecture §5.4, §7).

use rcpt_shared::{Address, ProbeRequest, Ticket, Verdict};
use worker::{
    AbortSignal, Fetch, Headers, Method, Request, RequestInit, send::IntoSendFuture as _, web_sys,
};

use super::{
    clock,
    meter::{Part, timed},
};
use crate::{config::Config, error::Error, origins};

/// Asks the origins in their order for this domain until one gives a verdict or the budget is over.
///
/// # Errors
/// [`Error::upstream`] when none did, whatever the reason: unreachable, slow, at capacity or talking
/// nonsense.
pub async fn probe(
    config: &Config,
    address: &Address,
    details: bool,
    request_id: &str,
) -> Result<Verdict, Error> {
    let body = serde_json::to_string(&ProbeRequest { address: address.clone(), details })
        .map_err(|error| Error::internal(format!("probe request: {error}")))?;
    let ticket = Ticket::issue(&config.ticket_secrets, request_id, body.as_bytes(), clock::now())
        .map_err(|error| Error::internal(format!("ticket: {error}")))?;
    // The clock moves with I/O, which is all that happens here.
    let deadline = clock::now_ms().saturating_add(config.upstream_budget_ms.into());
    let mut failures = Vec::new();
    for (index, origin) in origins::in_order(&config.origins, address.domain()).iter().enumerate() {
        let Some(left) = deadline.checked_sub(clock::now_ms()).filter(|left| *left > 0) else {
            break;
        };
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        match timed(Part::Origin, ask(origin, &ticket, &body, left)).into_send().await {
            Ok(verdict) => return Ok(verdict),
            Err(failure) => failures.push(format!("origin {index}: {failure}")),
        }
    }
    Err(Error::upstream(failures.join("; ")))
}

/// Whether an origin answers its health check within `timeout_ms`.
pub async fn is_alive(origin: &str, timeout_ms: u32) -> bool {
    let url = format!("{origin}/health");
    async move {
        let request = Request::new(&url, Method::Get)?;
        Fetch::Request(request).send_with_signal(&timeout(timeout_ms)).await
    }
    .into_send()
    .await
    .is_ok_and(|response| response.status_code() == 200)
}

/// One request to one origin. The error says what to log; the origin's own text stays out of it.
async fn ask(origin: &str, ticket: &str, body: &str, timeout_ms: u32) -> Result<Verdict, String> {
    let request = request(origin, ticket, body).map_err(|error| error.to_string())?;
    let mut response = Fetch::Request(request)
        .send_with_signal(&timeout(timeout_ms))
        .await
        .map_err(|_| "no answer".to_owned())?;
    match response.status_code() {
        200 => response.json().await.map_err(|_| "an answer that is not a verdict".to_owned()),
        status => Err(format!("status {status}")),
    }
}

fn request(origin: &str, ticket: &str, body: &str) -> worker::Result<Request> {
    let headers = Headers::new();
    headers.set("Authorization", &format!("Bearer {ticket}"))?;
    headers.set("Content-Type", "application/json")?;
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_headers(headers).with_body(Some(body.into()));
    Request::new_with_init(&format!("{origin}/v1/probe"), &init)
}

fn timeout(milliseconds: u32) -> AbortSignal {
    AbortSignal::from(web_sys::AbortSignal::timeout_with_u32(milliseconds))
}
