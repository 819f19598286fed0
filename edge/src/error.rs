//! The one error type: what the caller is told, and what the log is told beside it.

mod body;
mod challenge;
mod limits;
pub mod rate_limit;
mod scans;

use std::borrow::Cow;

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use body::{Body, ValidationDetail};
pub use body::{PlainError, ValidationError};
use challenge::Challenge;
pub use limits::LimitError;
use rate_limit::RateLimit;

/// What went wrong, as the caller is told. The detail of a failure of ours goes to the
/// log where it happens, never in here.
#[derive(Debug)]
pub struct Error {
    status: StatusCode,
    body: Body,
    /// The daily allowance that is used up, for `RateLimit`; 0 where the error is about something else.
    allowance: u32,
    /// Seconds, for `Retry-After`.
    retry_after: Option<u64>,
    /// `WWW-Authenticate` of a 401: which credentials would do.
    challenge: Challenge,
    /// What to log beside the request; never sent.
    cause: Option<Cause>,
    /// Names the error in the log line, also where its body has no code.
    outcome: &'static str,
}

/// The cause of a failure of ours, on its way to the request's log line in the response's extensions.
#[derive(Debug, Clone)]
struct Cause(String);

/// How a request ended, on its way to the log line in the response's extensions: the status of a
/// verdict, or the code of an error.
#[derive(Debug, Clone, Copy)]
pub struct Outcome(pub &'static str);

/// The outcome that the handler or an error left for the log.
pub fn outcome(response: &Response) -> Option<&'static str> {
    response.extensions().get::<Outcome>().map(|outcome| outcome.0)
}

/// The cause that an error left for the log.
pub fn cause(response: &Response) -> Option<&str> {
    response.extensions().get::<Cause>().map(|cause| cause.0.as_str())
}

impl Error {
    #[inline(never)]
    fn plain(status: StatusCode, code: Option<&'static str>, detail: Cow<'static, str>) -> Self {
        Self {
            status,
            body: Body::Plain(PlainError { detail, code }),
            allowance: 0,
            retry_after: None,
            challenge: Challenge::Session,
            cause: None,
            outcome: code.unwrap_or("error"),
        }
    }

    fn account(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::plain(status, Some(code), detail.into())
    }

    // --- what the caller did wrong

    pub fn invalid_body(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_body", detail)
    }

    pub fn body_too_large(limit: usize) -> Self {
        let detail = format!("The request body is larger than {limit} bytes.");
        Self::plain(StatusCode::PAYLOAD_TOO_LARGE, None, detail.into())
    }

    pub fn invalid_email(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_email", detail)
    }

    pub fn invalid_password(detail: &'static str) -> Self {
        Self::account(StatusCode::BAD_REQUEST, "invalid_password", detail)
    }

    pub fn invalid_display_name() -> Self {
        let detail = "The display name must have 1 to 100 characters and no control characters.";
        Self::account(StatusCode::BAD_REQUEST, "invalid_display_name", detail)
    }

    /// One text for unknown, used, replaced and expired links: the difference would tell a stranger something.
    pub fn invalid_confirmation_token() -> Self {
        let detail = "This confirmation link isn't valid. It may have been used, replaced by a newer \
                      one, or expired. Register again to get a new link.";
        Self::account(StatusCode::BAD_REQUEST, "invalid_token", detail)
    }

    pub fn missing_api_key() -> Self {
        let detail = "Missing API key: send it in the X-API-Key header.";
        Self::account(StatusCode::UNAUTHORIZED, "missing_credentials", detail)
            .challenging(Challenge::Either)
    }

    pub fn invalid_api_key() -> Self {
        Self::account(StatusCode::UNAUTHORIZED, "invalid_api_key", "Invalid API key.")
            .challenging(Challenge::Key)
    }

    /// An API key in the place of a session token.
    pub fn key_as_session() -> Self {
        let detail = "This is an API key: send it in the X-API-Key header. Account endpoints need a \
                      session token. You get one by signing in.";
        Self::account(StatusCode::UNAUTHORIZED, "invalid_session", detail)
    }

    pub fn missing_session() -> Self {
        let detail = "Missing session token: sign in and send it as Authorization: Bearer <token>.";
        Self::account(StatusCode::UNAUTHORIZED, "missing_credentials", detail)
    }

    pub fn invalid_session() -> Self {
        let detail = "Invalid or expired session token. Sign in again.";
        Self::account(StatusCode::UNAUTHORIZED, "invalid_session", detail)
    }

    pub fn invalid_credentials() -> Self {
        let detail = "The email or password is wrong, or the address hasn't been confirmed yet.";
        Self::account(StatusCode::UNAUTHORIZED, "invalid_credentials", detail)
    }

    pub fn deactivated() -> Self {
        Self::account(StatusCode::FORBIDDEN, "deactivated", "This account has been deactivated.")
    }

    /// The operator has deactivated the API key; replacing it would not bring it back.
    pub fn key_deactivated() -> Self {
        let detail = "The API key of this account has been deactivated.";
        Self::account(StatusCode::FORBIDDEN, "key_deactivated", detail)
    }

    /// The password was asked again within a session, and was wrong.
    pub fn wrong_password() -> Self {
        Self::account(StatusCode::FORBIDDEN, "wrong_password", "The password is wrong.")
    }

    /// 401 where the code signs in, 403 within a session.
    pub fn totp_required(status: StatusCode) -> Self {
        let detail = "Two-factor authentication is on. Send a current code or a recovery code in \
                      totp_code.";
        Self::account(status, "totp_required", detail)
    }

    pub fn totp_invalid(status: StatusCode) -> Self {
        let detail = "That code isn't right: it's wrong, too old or has been used.";
        Self::account(status, "totp_invalid", detail)
    }

    pub fn totp_already_on() -> Self {
        let detail = "Two-factor authentication is already on. Turn it off first.";
        Self::account(StatusCode::CONFLICT, "totp_already_on", detail)
    }

    pub fn totp_not_on() -> Self {
        let detail = "Two-factor authentication isn't on.";
        Self::account(StatusCode::CONFLICT, "totp_not_on", detail)
    }

    /// There is no pending secret that the code could belong to.
    pub fn totp_not_set_up() -> Self {
        let detail = "Start two-factor setup first.";
        Self::account(StatusCode::CONFLICT, "totp_not_set_up", detail)
    }

    pub fn invalid_reset_token() -> Self {
        let detail = "This link isn't valid. It may have been used, replaced by a newer one, or \
                      expired. Ask for a new one.";
        Self::account(StatusCode::BAD_REQUEST, "invalid_token", detail)
    }

    /// Too many attempts; `seconds` until the next one is evaluated.
    #[inline(never)]
    pub fn throttled(seconds: u64) -> Self {
        let detail = format!("Too many attempts. Try again in {seconds} seconds.");
        Self::account(StatusCode::TOO_MANY_REQUESTS, "throttled", detail).after(seconds)
    }

    /// The account has no such session, or not any more.
    pub fn no_such_session() -> Self {
        let detail = "There is no such session. It may have ended already.";
        Self::account(StatusCode::NOT_FOUND, "no_such_session", detail)
    }

    /// DNS has no such domain; told to everybody alike, before it is looked up who has an account.
    pub fn no_such_domain(domain: &str) -> Self {
        let detail =
            format!("The domain {domain} doesn't exist. Check the spelling of your email.");
        Self::account(StatusCode::BAD_REQUEST, "undeliverable_email", detail)
    }

    /// The domain says in DNS that it gets no email.
    pub fn domain_without_mail(domain: &str) -> Self {
        let detail = format!("The domain {domain} doesn't accept email. Use another address.");
        Self::account(StatusCode::BAD_REQUEST, "undeliverable_email", detail)
    }

    pub fn invalid_idempotency_key() -> Self {
        let detail =
            "The Idempotency-Key must have 16 to 255 printable ASCII characters without spaces.";
        Self::account(StatusCode::BAD_REQUEST, "invalid_idempotency_key", detail)
    }

    /// The first request with this key has no answer yet.
    pub fn idempotency_key_in_use() -> Self {
        let detail =
            "A request with this Idempotency-Key is being answered. Try again in a second.";
        Self::account(StatusCode::CONFLICT, "idempotency_key_in_use", detail).after(1)
    }

    /// The key was sent before with another request. Nothing is counted.
    pub fn idempotency_key_reused() -> Self {
        let detail = "This Idempotency-Key was used for another request. Use a new one for each.";
        Self::account(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", detail)
    }

    pub fn not_found() -> Self {
        Self::plain(StatusCode::NOT_FOUND, None, "There is nothing at this path.".into())
    }

    pub fn method_not_allowed() -> Self {
        let detail = "Method not allowed. See the Allow header.";
        Self::plain(StatusCode::METHOD_NOT_ALLOWED, None, detail.into())
    }

    // --- what went wrong on our side

    /// No origin gave a verdict; the check is not counted.
    pub fn upstream(cause: impl Into<String>) -> Self {
        let detail = "Upstream error: the check couldn't be completed and wasn't counted. Retry in 5 seconds.";
        let error = Self::plain(StatusCode::BAD_GATEWAY, None, detail.into());
        Self { outcome: "upstream", ..error.after(RETRY_UPSTREAM).because(cause) }
    }

    /// Storage, mail or configuration failed; the cause is in the log under the request id.
    pub fn unavailable(cause: impl Into<String>) -> Self {
        Self::unavailable_because(cause.into())
    }

    #[inline(never)]
    fn unavailable_because(cause: String) -> Self {
        let detail = "The service is temporarily unavailable. Try again in 10 seconds.";
        Self::plain(StatusCode::SERVICE_UNAVAILABLE, Some("unavailable"), detail.into())
            .after(RETRY_UNAVAILABLE)
            .because(cause)
    }

    /// A broken assumption of ours; the cause is in the log under the request id.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self::internal_because(cause.into())
    }

    #[inline(never)]
    fn internal_because(cause: String) -> Self {
        let detail = "Something went wrong on our side.";
        Self::account(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail).because(cause)
    }

    const fn challenging(mut self, challenge: Challenge) -> Self {
        self.challenge = challenge;
        self
    }

    fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(Cause(cause.into()));
        self
    }

    /// The shape that email validation gives its 400 and 401: `{detail: {error}}`.
    pub fn of_validation(mut self) -> Self {
        let shaped = matches!(self.status, StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED);
        if shaped && let Body::Plain(PlainError { detail, .. }) = self.body {
            self.body =
                Body::Validation(ValidationError { detail: ValidationDetail { error: detail } });
        }
        self
    }
}

/// An origin that is being restarted is back within seconds.
const RETRY_UPSTREAM: u64 = 5;
/// Storage that fails tends to fail for longer than a restart takes.
const RETRY_UNAVAILABLE: u64 = 10;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let name = self.body.allowance();
        let mut response = (self.status, Json(self.body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110 §15.5.2 asks for it.
            headers.insert(header::WWW_AUTHENTICATE, self.challenge.value());
        }
        if self.allowance > 0 {
            let seconds = self.retry_after.unwrap_or_default();
            RateLimit::daily(name, self.allowance.into(), 0, seconds).insert(headers);
        }
        response.extensions_mut().insert(Outcome(self.outcome));
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

#[cfg(test)]
mod tests;
