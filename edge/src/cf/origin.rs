//! Asks the origins for a verdict.

use rcpt_shared::{Address, KeyRing, ProbeRequest, Ticket, Verdict};
use worker::{
    AbortSignal, Fetch, Headers, Method, Request, RequestInit, send::IntoSendFuture as _, web_sys,
};

use super::{
    clock,
    meter::{Part, timed},
    rendezvous,
};
use crate::error::Error;

/// The origins, and what it takes to ask them.
#[derive(Debug)]
pub struct Origins {
    urls: Vec<String>,
    tickets: KeyRing,
}

impl Origins {
    pub fn new(urls: &[String], tickets: &KeyRing) -> Self {
        Self { urls: urls.to_vec(), tickets: tickets.clone() }
    }

    /// Asks the origins in their order for this domain until one gives a verdict or the deadline
    /// (milliseconds of the Worker's clock) is over.
    ///
    /// # Errors
    /// [`Error::upstream`] when none did, whatever the reason: unreachable, slow, at capacity or talking
    /// nonsense.
    pub async fn probe(
        &self,
        address: &Address,
        details: bool,
        request_id: &str,
        deadline: u64,
    ) -> Result<Verdict, Error> {
        let body = serde_json::to_string(&ProbeRequest { address: address.clone(), details })
            .map_err(|error| Error::internal(format!("probe request: {error}")))?;
        let ticket = Ticket::issue(&self.tickets, request_id, body.as_bytes(), clock::now())
            .map_err(|error| Error::internal(format!("ticket: {error}")))?;
        let mut failures = Vec::new();
        let order = rendezvous::in_order(&self.urls, address.domain());
        for (index, origin) in order.into_iter().enumerate() {
            // The clock moves with I/O, which is all that happens here.
            let left = deadline.saturating_sub(clock::now_ms());
            if left == 0 {
                break;
            }
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            match timed(Part::Origin, ask(origin, &ticket, &body, left)).into_send().await {
                Ok(verdict) => return Ok(verdict),
                Err(failure) => failures.push(format!("origin {index}: {failure}")),
            }
        }
        Err(Error::upstream(failures.join("; ")))
    }

    /// Whether at least one origin answers its health check within `timeout_ms`.
    pub async fn is_any_alive(&self, timeout_ms: u32) -> bool {
        for origin in &self.urls {
            if is_alive(origin, timeout_ms).into_send().await {
                return true;
            }
        }
        false
    }
}

async fn is_alive(origin: &str, timeout_ms: u32) -> bool {
    let Ok(request) = Request::new(&format!("{origin}/health"), Method::Get) else { return false };
    let response = Fetch::Request(request).send_with_signal(&timeout(timeout_ms)).await;
    response.is_ok_and(|response| response.status_code() == 200)
}

/// One request to one origin. The error says what to log; the origin's own text stays out of it.
async fn ask(origin: &str, ticket: &str, body: &str, timeout_ms: u32) -> Result<Verdict, String> {
    let request = request(origin, ticket, body).map_err(|error| error.to_string())?;
    let mut response = Fetch::Request(request)
        .send_with_signal(&timeout(timeout_ms))
        .await
        .map_err(|_| "no answer".to_owned())?;
    match response.status_code() {
        200 => {
            let text = response.text().await.map_err(|_| "half an answer".to_owned())?;
            serde_json::from_str(&text).map_err(|_| "an answer that is not a verdict".to_owned())
        }
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
