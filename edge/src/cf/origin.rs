//! Asks the origins for a verdict.

use std::{
    collections::HashMap,
    future::Future,
    pin::pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};

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
    /// What is known of each origin, by its URL.
    health: Mutex<HashMap<String, Health>>,
}

/// In milliseconds of the Worker's clock.
#[derive(Debug, Clone, Copy, Default)]
struct Health {
    /// It answered its health check then.
    alive_at: u64,
    /// Another check of this isolate is asking until then.
    asked_until: u64,
    /// It said nothing, and comes last until then.
    skipped_until: u64,
}

/// An origin that has not given a verdict for this long is asked how it is: a mail server may well take
/// ten seconds, and a tarpit at the other end must not make a healthy origin look hung.
const SLOW: Duration = Duration::from_secs(2);
/// Milliseconds that its health check may take, which touches nothing but the process itself.
const HEALTH_MS: u32 = 1_000;
/// Milliseconds for which an origin that says nothing comes last: a restart takes less.
const SKIP_MS: u64 = 30_000;

impl Origins {
    pub fn new(urls: &[String], tickets: &KeyRing) -> Self {
        Self { urls: urls.to_vec(), tickets: tickets.clone(), health: Mutex::default() }
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
        let mut order = rendezvous::in_order(&self.urls, address.domain());
        let now = clock::now_ms();
        order.sort_by_key(|origin| now < self.health_of(origin).skipped_until);
        for (index, origin) in order.into_iter().enumerate() {
            // The clock moves with I/O, which is all that happens here.
            let left = deadline.saturating_sub(clock::now_ms());
            if left == 0 {
                break;
            }
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            let answer = self.while_alive(origin, ask(origin, &ticket, &body, left));
            match timed(Part::Origin, answer).into_send().await {
                Ok(verdict) => return Ok(verdict),
                Err(failure) => failures.push(format!("origin {index}: {failure}")),
            }
        }
        Err(Error::upstream(failures.join("; ")))
    }

    /// Waits for an origin's answer for as long as the origin is alive.
    async fn while_alive<T>(
        &self,
        origin: &str,
        answer: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let mut answer = pin!(answer);
        loop {
            if let Some(answer) = clock::within(SLOW, answer.as_mut()).await {
                return answer;
            }
            if self.is_hung(origin).await {
                return Err("no sign of life".to_owned());
            }
        }
    }

    /// Whether an origin that is slow says nothing at all. One check of the isolate asks for all.
    async fn is_hung(&self, origin: &str) -> bool {
        let now = clock::now_ms();
        let known = self.health_of(origin);
        if now < known.skipped_until {
            return true;
        }
        let slow = u64::try_from(SLOW.as_millis()).unwrap_or(u64::MAX);
        if now < known.asked_until || now < known.alive_at.saturating_add(slow) {
            return false;
        }
        self.learn(origin, |health| health.asked_until = now.saturating_add(HEALTH_MS.into()));
        let is_alive = is_alive(origin, HEALTH_MS).await;
        let now = clock::now_ms();
        self.learn(origin, |health| {
            if is_alive {
                health.alive_at = now;
            } else {
                health.skipped_until = now.saturating_add(SKIP_MS);
            }
        });
        !is_alive
    }

    fn health_of(&self, origin: &str) -> Health {
        let all = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(origin).copied().unwrap_or_default()
    }

    fn learn(&self, origin: &str, change: impl FnOnce(&mut Health)) {
        let mut all = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry(origin.to_owned()).or_default());
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
