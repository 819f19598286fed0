//! The results of checks, as the API shows them.

use axum::{
    Json,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use rcpt_shared::{Address, Deliverability, Malformed, Status, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use super::details::{Details, verdict_schema};
use crate::{
    cf::{clock, verdict_cache::CachedVerdict},
    error::{Error, Outcome, rate_limit::RateLimit},
    ledger::tally::status_schema,
    limits::quota::seconds_to_reset,
};

/// Seconds after which a pending verdict may be available.
pub const RETRY_AFTER_S: u64 = 2;

/// The verdict about one address.
#[derive(Debug, Serialize, ToSchema)]
pub struct ValidationResult {
    /// The address that was checked.
    pub email: String,
    // An addition to the specification, so optional in the description.
    #[schema(required = false, schema_with = verdict_schema)]
    pub verdict: Deliverability,
    #[schema(schema_with = status_schema)]
    pub status: Status,
    /// Whether this is the result of a recent identical check. Absent when `status` is `invalid_format`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cached: Option<bool>,
    /// The evidence, when the request asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub details: Option<Details>,
    /// `true` if the verdict hadn't arrived by `deadline_ms`: `status` is `smtp_timeout`, the check continues, and the
    /// same request with its `Idempotency-Key` returns the verdict later. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pending: Option<bool>,
    #[serde(skip)]
    #[schema(ignore)]
    pub rate_limit: Option<RateLimit>,
}

/// The verdicts about a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListResult {
    /// A result for each address, in the order of the request.
    pub results: Vec<ValidationResult>,
    /// Number of counted results. Those with `fatal_exception` aren't counted. Absent while a result is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub counted: Option<u32>,
    /// `true` if a result hadn't arrived by `deadline_ms`: the checks continue, and the same request with its
    /// `Idempotency-Key` returns all results later. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pending: Option<bool>,
    #[serde(skip)]
    #[schema(ignore)]
    pub rate_limit: Option<RateLimit>,
}

impl IntoResponse for ValidationResult {
    fn into_response(self) -> Response {
        let (rate_limit, is_pending) = (self.rate_limit.clone(), self.pending.is_some());
        respond(&self, rate_limit, is_pending, self.status.as_str())
    }
}

impl IntoResponse for ListResult {
    fn into_response(self) -> Response {
        let (rate_limit, is_pending) = (self.rate_limit.clone(), self.pending.is_some());
        respond(&self, rate_limit, is_pending, "list")
    }
}

/// The response with what is left, and its outcome for the log.
pub fn respond(
    body: &impl Serialize,
    rate_limit: Option<RateLimit>,
    is_pending: bool,
    outcome: &'static str,
) -> Response {
    let mut response = Json(body).into_response();
    if let Some(rate_limit) = rate_limit {
        rate_limit.insert(response.headers_mut());
    }
    if is_pending {
        let seconds = HeaderValue::from(RETRY_AFTER_S);
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    let outcome = Outcome(if is_pending { "pending" } else { outcome });
    response.extensions_mut().insert(outcome);
    response
}

/// The checks that are left, from the ledger's text.
pub fn left_of(ledger: &str) -> Option<RateLimit> {
    RateLimit::of_checks(ledger, seconds_to_reset(clock::now()))
}

impl ListResult {
    pub fn leaving(self, ledger: &str) -> Self {
        Self { rate_limit: left_of(ledger), ..self }
    }

    /// The result of an address alone.
    ///
    /// # Errors
    /// [`Error::internal`] for an empty list.
    pub fn only(self) -> Result<ValidationResult, Error> {
        let only = self.results.into_iter().next();
        let only = only.ok_or_else(|| Error::internal("a check without a result"))?;
        Ok(ValidationResult { rate_limit: self.rate_limit, ..only })
    }
}

impl ValidationResult {
    pub fn of_no_address(malformed: &Malformed, details: bool) -> Self {
        let email = malformed.text().to_owned();
        let details = details.then(|| Details::of_no_address(malformed));
        let (status, verdict) = (Status::InvalidFormat, Deliverability::Undeliverable);
        Self { email, verdict, status, cached: None, details, pending: None, rate_limit: None }
    }

    /// `details` says whether the evidence is shown.
    pub fn of(address: &Address, verdict: Verdict, details: bool, cached: bool) -> Self {
        Self {
            email: address.as_given().to_owned(),
            verdict: verdict.deliverability(),
            status: verdict.status,
            cached: Some(cached),
            details: details.then(|| Details::new(address, verdict)),
            pending: None,
            rate_limit: None,
        }
    }

    /// From the cached or stored verdict of an earlier check.
    pub fn again(address: &Address, details: bool, cached: CachedVerdict) -> Self {
        Self::of(address, cached.into_verdict(address.domain()), details, true)
    }

    /// The result of a check without a verdict by its deadline, with the facts known so far.
    pub fn pending(address: &Address, details: Option<Details>) -> Self {
        Self {
            email: address.as_given().to_owned(),
            verdict: Deliverability::Unknown,
            status: Status::SmtpTimeout,
            cached: Some(false),
            details,
            pending: Some(true),
            rate_limit: None,
        }
    }

    /// The result of a text that may be no address, before anything is said about it.
    pub fn pending_text(malformed: &Malformed) -> Self {
        let pending = Self::of_no_address(malformed, false);
        Self {
            verdict: Deliverability::Unknown,
            status: Status::SmtpTimeout,
            cached: Some(false),
            pending: Some(true),
            ..pending
        }
    }
}
