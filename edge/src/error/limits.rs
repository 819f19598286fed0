//! The 429 errors of checks and scans: which limit was reached, and when requests are accepted
//! again.

use axum::http::StatusCode;
use chrono::{DateTime, SecondsFormat, Utc};

use super::{
    Challenge, Error,
    body::{Body, LimitDetail, LimitError, LimitName},
    rate_limit::RateLimit,
    table::{KEY_USED_UP, THROTTLED, TOO_MANY_IN_FLIGHT, USED_UP},
};

fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

impl Error {
    pub fn email_checks_used_up(
        allowance: u32,
        resets_at: DateTime<Utc>,
        retry_after: u64,
    ) -> Self {
        let error = format!(
            "The daily email check limit has been reached and no welcome checks are left. It \
             resets at {}.",
            time(resets_at)
        );
        let error = Self::limit(LimitName::EmailCheck, error, resets_at, USED_UP);
        error.leaving(&format!("{allowance} 0"), retry_after)
    }

    pub fn key_used_up(limit: u32, resets_at: DateTime<Utc>, retry_after: u64) -> Self {
        let error = format!(
            "This API key's daily limit of email checks ({limit}) has been reached. It resets at {}.",
            time(resets_at)
        );
        let error = Self::limit(LimitName::EmailCheck, error, resets_at, KEY_USED_UP);
        error.leaving(&format!("{limit} 0"), retry_after)
    }

    /// A list has more addresses than checks are left today. No address was checked. `ledger` is what is left, in the
    /// ledger's format.
    pub fn too_few_checks_left(
        remaining: u32,
        ledger: &str,
        resets_at: DateTime<Utc>,
        retry_after: u64,
    ) -> Self {
        let error = format!(
            "Only {remaining} email checks are left, fewer than the list has addresses. None of them was checked. The \
             daily limit resets at {}.",
            time(resets_at)
        );
        let error = Self::limit(LimitName::EmailCheck, error, resets_at, USED_UP);
        error.leaving(ledger, retry_after)
    }

    pub fn too_few_of_key_left(
        remaining: u32,
        limit: u32,
        resets_at: DateTime<Utc>,
        retry_after: u64,
    ) -> Self {
        let error = format!(
            "Only {remaining} of this API key's {limit} email checks a day are left, fewer than the list has addresses. \
             None of them was checked. The key's limit resets at {}.",
            time(resets_at)
        );
        let error = Self::limit(LimitName::EmailCheck, error, resets_at, KEY_USED_UP);
        error.leaving(&format!("{limit} {remaining}"), retry_after)
    }

    /// `ledger` is what is left of the allowance, which is renewed in `seconds`.
    fn leaving(self, ledger: &str, seconds: u64) -> Self {
        Self { rate_limit: RateLimit::of_checks(ledger, seconds), ..self.after(seconds) }
    }

    pub fn too_many_in_flight(now: u64) -> Self {
        let error = "Too many email checks of this account are running. Wait for one to end";
        Self::for_a_while(error, TOO_MANY_IN_FLIGHT, now, 1)
    }

    pub fn too_many_checks(now: u64, seconds: u64) -> Self {
        let error = "Too many email checks of this account in a short time. Slow down";
        Self::for_a_while(error, THROTTLED, now, seconds)
    }

    fn for_a_while(error: &str, code: &'static str, now: u64, seconds: u64) -> Self {
        let end = i64::try_from(now.saturating_add(seconds)).unwrap_or_default();
        let resets_at = DateTime::from_timestamp(end, 0).unwrap_or(DateTime::<Utc>::MAX_UTC);
        let error = format!("{error}, and try again at {}.", time(resets_at));
        Self::limit(LimitName::EmailCheck, error, resets_at, code).after(seconds)
    }

    pub fn scans_used_up(allowance: u32, resets_at: DateTime<Utc>, retry_after: u64) -> Self {
        let error = format!(
            "The daily scan limit has been reached and no scan credits are left. It resets at {}.",
            time(resets_at)
        );
        let error = Self::limit(LimitName::Scan, error, resets_at, USED_UP);
        let rate_limit = RateLimit::of_scans(&format!("{allowance} 0"), retry_after);
        Self { rate_limit, ..error.after(retry_after) }
    }

    fn limit(
        limit: LimitName,
        error: String,
        resets_at: DateTime<Utc>,
        code: &'static str,
    ) -> Self {
        let detail = LimitDetail { error, limit, resets_at };
        let body = Body::Limit(LimitError { detail, code, doc_url: None });
        Self::new(StatusCode::TOO_MANY_REQUESTS, body).challenging(Challenge::Either)
    }
}
