//! The result of one check, as the API shows it.

use axum::{
    Json,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use rcpt_shared::{Address, Deliverability, Malformed, Status, Verdict};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    deadline,
    details::{Details, verdict_schema},
};
use crate::{
    cf::{clock, verdict_cache::CachedVerdict},
    error::{Outcome, rate_limit::RateLimit},
    limits::quota::seconds_to_reset,
    schema::status_schema,
};

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

impl IntoResponse for ValidationResult {
    fn into_response(self) -> Response {
        let is_pending = self.pending.is_some();
        let outcome = Outcome(if is_pending { "pending" } else { self.status.as_str() });
        let rate_limit = self.rate_limit.clone();
        let mut response = Json(self).into_response();
        if let Some(rate_limit) = rate_limit {
            rate_limit.insert(response.headers_mut());
        }
        if is_pending {
            let seconds = HeaderValue::from(deadline::RETRY_AFTER_S);
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response.extensions_mut().insert(outcome);
        response
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

    /// Builds the result from the cached or stored verdict of an earlier check.
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

    /// Adds the remaining checks, from the ledger's text.
    pub fn leaving(mut self, left_over: &str) -> Self {
        self.rate_limit = RateLimit::of_checks(left_over, seconds_to_reset(clock::now()));
        self
    }
}
