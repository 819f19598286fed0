//! What can go wrong, told apart by what the caller can do about it.

use std::time::Duration;

/// The call did not end with an answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the service cannot be used.
    #[error("{0}")]
    Address(String),
    /// 401: no key, or one that is wrong, replaced or deactivated.
    #[error("{message}")]
    Unauthorised { code: Option<String>, message: String },
    /// 429: an allowance is used up, or there were too many requests; `after` is when it is worth trying
    /// again.
    #[error("{message}")]
    TooMany { code: Option<String>, message: String, after: Option<Duration> },
    /// Another 4xx: the request itself is refused.
    #[error("{message}")]
    Refused { status: u16, code: Option<String>, message: String },
    /// 5xx, to the last attempt.
    #[error("{message}")]
    Unavailable { status: u16, message: String },
    /// No connection, or one that broke, to the last attempt.
    #[error("{cause}")]
    Network { cause: String },
    /// Whatever answered is not the service: a proxy, a sign-in page of a network, another version.
    #[error("{0}")]
    Unintelligible(String),
}

impl Error {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::TooMany { .. } | Self::Unavailable { .. } | Self::Network { .. })
    }
}
