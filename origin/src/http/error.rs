//! Error responses.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::telemetry::port_check::BLOCKED_INTERVAL;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("The ticket is missing or not valid for this request.")]
    BadTicket,
    #[error("The body is not what is asked for, or an address in it is not valid.")]
    Malformed,
    /// The same, with the number of secrets under which tickets are accepted: `tools/admin secret` asks so whether the
    /// newest is alone.
    #[error("The body is not what is asked for, or an address in it is not valid.")]
    NoRequest { secrets: usize },
    #[error("The body is too large.")]
    TooLarge,
    #[error("The body did not arrive in time.")]
    Slow,
    #[error("No room for a further probe.")]
    AtCapacity,
    #[error("No nameserver answers.")]
    NoNameserver,
    #[error("Port 25 is shut: no mail server of the port check greets us.")]
    PortShut,
    #[error("Internal error.")]
    Internal,
    #[error("Not found.")]
    NotFound,
    #[error("Method not allowed.")]
    MethodNotAllowed,
}

impl Error {
    const fn status(self) -> StatusCode {
        match self {
            Self::BadTicket => StatusCode::UNAUTHORIZED,
            Self::Malformed | Self::NoRequest { .. } => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::AtCapacity | Self::NoNameserver | Self::PortShut => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response =
            (self.status(), Json(json!({ "detail": self.to_string() }))).into_response();
        let headers = response.headers_mut();
        match self {
            Self::PortShut => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(BLOCKED_INTERVAL.as_secs()));
            }
            Self::AtCapacity => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Self::NoRequest { secrets } => {
                headers.insert("x-rcpt-secrets", HeaderValue::from(secrets));
            }
            Self::BadTicket => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}
