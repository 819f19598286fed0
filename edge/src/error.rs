//! The error type of handlers: the response to the caller, and the cause for the log. `error/table.rs`
//! lists most errors.

mod body;
mod challenge;
mod limits;
mod operator;
pub mod rate_limit;
mod table;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use body::Body;
pub use body::{LimitError, PlainError, ValidationError};
use challenge::Challenge;
use rate_limit::RateLimit;

/// An error response and, for failures on our side, their cause for the log.
#[derive(Debug)]
pub struct Error {
    status: StatusCode,
    /// Boxed because a `Result` is at least as large as its error.
    body: Box<Body>,
    rate_limit: Option<RateLimit>,
    retry_after: Option<u64>,
    challenge: Challenge,
    cause: Option<Cause>,
}

#[derive(Debug, Clone)]
struct Cause(String);

/// Outcome of a request, passed to its log line in the response's extensions. For example, the
/// status of a verdict or the code of an error.
#[derive(Debug, Clone, Copy)]
pub struct Outcome(pub &'static str);

pub fn outcome(response: &Response) -> Option<&'static str> {
    response.extensions().get::<Outcome>().map(|outcome| outcome.0)
}

pub fn cause(response: &Response) -> Option<&str> {
    response.extensions().get::<Cause>().map(|cause| cause.0.as_str())
}

/// Writes the body of an error, with a link to its code in the portal's reference. `portal_url` is unknown while the
/// configuration has a mistake.
pub fn write_body(response: &mut Response, portal_url: Option<&str>) {
    if let Some(mut body) = response.extensions_mut().remove::<Body>() {
        body.link(portal_url);
        *response.body_mut() = serde_json::to_string(&body).unwrap_or_default().into();
    }
}

impl Error {
    fn plain(status: StatusCode, code: &'static str, detail: String) -> Self {
        Self::new(status, Body::Plain(PlainError { detail, code, doc_url: None }))
    }

    fn new(status: StatusCode, body: Body) -> Self {
        let (body, challenge) = (Box::new(body), Challenge::Session);
        Self { status, body, rate_limit: None, retry_after: None, challenge, cause: None }
    }

    const fn challenging(mut self, challenge: Challenge) -> Self {
        self.challenge = challenge;
        self
    }

    const fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    fn because(mut self, cause: String) -> Self {
        self.cause = Some(Cause(cause));
        self
    }

    pub fn is_key_in_use(&self) -> bool {
        self.body.code() == Self::idempotency_key_in_use().body.code()
    }

    pub fn code(&self) -> &'static str {
        self.body.code()
    }

    /// True if the caller made a mistake that a retry won't fix.
    pub fn is_the_callers(&self) -> bool {
        self.status.is_client_error()
            && !matches!(self.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT)
    }

    /// Gives a 400 or 401 the shape of email validation's: `{detail: {error}, code}`.
    pub fn of_validation(mut self) -> Self {
        if matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED) {
            self.body = Box::new(self.body.of_validation());
        }
        self
    }
}

impl IntoResponse for Error {
    /// [`write_body`] adds the body.
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // Required by RFC 9110 §15.5.2.
            headers.insert(header::WWW_AUTHENTICATE, self.challenge.value());
        }
        if let Some(rate_limit) = self.rate_limit {
            rate_limit.insert(headers);
        }
        response.extensions_mut().insert(Outcome(self.body.code()));
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response.extensions_mut().insert(*self.body);
        response
    }
}

#[cfg(test)]
mod tests;
