//! Errors, by what the caller can do about them.

use std::time::Duration;

/// The call did not end with an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the service cannot be used.
    #[error("{0}")]
    Address(String),
    /// 401: no key, or one that is wrong, replaced or deactivated.
    #[error("{message}")]
    Unauthorised { code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// 429: an allowance is used up, or there were too many requests; `after` is when it is worth trying
    /// again.
    #[error("{message}")]
    TooMany {
        code: Option<String>,
        message: String,
        after: Option<Duration>,
        details: Box<ErrorDetails>,
    },
    /// Another 4xx: the request itself is refused.
    #[error("{message}")]
    Refused { status: u16, code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// 5xx, to the last attempt.
    #[error("{message}")]
    Unavailable { status: u16, code: Option<String>, message: String, details: Box<ErrorDetails> },
    /// No connection, one that broke, or no answer in time, to the last attempt.
    #[error("{cause}")]
    Network { cause: String },
    /// The response isn't the service's: it came from a proxy, a network's sign-in page, or another version.
    #[error("{0}")]
    Unintelligible(String),
}

/// Members of an error of the service beside its message and code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorDetails {
    /// Quote it when you report a problem.
    pub request_id: Option<String>,
    /// The allowance that is used up, such as `email check`.
    pub limit: Option<String>,
    /// Time at which the allowance is renewed, as an ISO 8601 date-time.
    pub resets_at: Option<String>,
    /// A page about this error.
    pub doc_url: Option<String>,
}

impl Error {
    /// Returns true if the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::TooMany { .. } | Self::Unavailable { .. } | Self::Network { .. })
    }

    /// The word for programs, if the service gave one.
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

    /// Further members of the answer; `None` where the service has not answered.
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
