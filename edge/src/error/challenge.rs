//! `WWW-Authenticate` of a 401.

use axum::http::HeaderValue;

#[derive(Debug, Clone, Copy)]
pub enum Challenge {
    Key,
    Session,
    Either,
}

impl Challenge {
    /// The header's value (RFC 9110 §11.6.1). `ApiKey` isn't a registered scheme: the key is sent in `X-API-Key`.
    pub const fn value(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Key => "ApiKey",
            Self::Session => "Bearer",
            Self::Either => "ApiKey, Bearer",
        })
    }
}
