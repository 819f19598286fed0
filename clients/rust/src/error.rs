//! Errors, by what the caller can do about them.

use std::time::Duration;

/// Failure of a call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service's URL can't be used.
    #[error("{0}")]
    Address(String),
    /// 401: the key is missing, wrong, replaced or deactivated.
    #[error("{message}")]
    Unauthorised { code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// 429: an allowance is used up, or there were too many requests; `after` is the time until a
    /// retry makes sense.
    #[error("{message}")]
    TooMany {
        code: Option<String>,
        message: String,
        after: Option<Duration>,
        details: Box<ErrorDetails>,
    },
    /// Another 4xx: the request itself was rejected.
    #[error("{message}")]
    Refused { status: u16, code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// 5xx on the last attempt.
    #[error("{message}")]
    Unavailable { status: u16, code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// The last attempt ended without a connection, with a broken connection, or without a response in time.
    #[error("{cause}")]
    Network { cause: String },
    /// The response isn't the service's: it came from a proxy, a network's sign-in page, or another version.
    #[error("{0}")]
    Unintelligible(String),
}

/// Members of an error response besides its message and code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorDetails {
    /// Id to quote when you report a problem.
    pub request_id: Option<String>,
    /// Name of the exhausted allowance, such as `email check`.
    pub limit: Option<String>,
    /// Time at which the allowance is renewed, as an ISO 8601 date-time.
    pub resets_at: Option<String>,
    /// URL of a page about this error.
    pub doc_url: Option<String>,
}

impl Error {
    /// True if the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::TooMany { .. } | Self::Unavailable { .. } | Self::Network { .. })
    }

    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Unauthorised { code, .. }
            | Self::TooMany { code, .. }
            | Self::Refused { code, .. }
            | Self::Unavailable { code, .. } => code.as_deref(),
            Self::Address(_) | Self::Network { .. } | Self::Unintelligible(_) => None,
        }
    }

    #[must_use]
    pub const fn details(&self) -> Option<&ErrorDetails> {
        match self {
            Self::Unauthorised { details, .. }
            | Self::TooMany { details, .. }
            | Self::Refused { details, .. }
            | Self::Unavailable { details, .. } => Some(details),
            Self::Address(_) | Self::Network { .. } | Self::Unintelligible(_) => None,
        }
    }
}
