//! `WWW-Authenticate` of a 401.

use axum::http::HeaderValue;

/// Credentials accepted in place of those that a 401 rejects.
#[derive(Debug, Clone, Copy)]
pub enum Challenge {
    Key,
    Session,
    Either,
}

impl Challenge {
    /// RFC 9110 §11.6.1. `ApiKey` is a scheme of our own: the key goes into a header of its own.
    pub const fn value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Key => "ApiKey",
            Self::Session => "Bearer",
            Self::Either => "ApiKey, Bearer",
        })
    }
}
