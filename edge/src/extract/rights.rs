//! The right of a named key that each operation requires. Named keys can't call
//! operations that aren't listed.

use axum::http::Method;

use crate::{
    credentials::named_key::{NamedKey, Right},
    error::Error,
};

/// Method and path of each operation that named keys may call, with its rights: a key needs one of
/// them.
const RIGHTS: &[(Method, &str, &[Right])] = &[
    (Method::POST, "/v1/validate_email", &[Right::Checks]),
    (Method::POST, "/v1/validate_emails", &[Right::Checks]),
    (Method::POST, "/v1/domains", &[Right::Checks]),
    (Method::POST, "/v1/scans", &[Right::Scans]),
    (Method::GET, "/v1/scans", &[Right::Scans, Right::ReadScans]),
    (Method::GET, "/v1/scans/{id}", &[Right::Scans, Right::ReadScans]),
    (Method::DELETE, "/v1/scans/{id}", &[Right::Scans]),
    (Method::POST, "/v1/scans/{id}/cancel", &[Right::Scans]),
    (Method::PUT, "/v1/scans/{id}/parts/{n}", &[Right::Scans]),
    (Method::POST, "/v1/scans/{id}/parts/{n}/match", &[Right::Scans]),
    (Method::GET, "/v1/scans/{id}/results", &[Right::Scans, Right::ReadScans]),
    (Method::GET, "/v1/events", &[Right::Scans, Right::ReadScans, Right::Webhooks]),
    (Method::GET, "/v1/me/quota", &[Right::Quota]),
    (Method::POST, "/v1/guard/decide", &[Right::Guard]),
];

/// Method and path of each operation that named keys may call.
#[cfg(test)]
pub fn operations() -> impl Iterator<Item = (&'static Method, &'static str)> {
    RIGHTS.iter().map(|(method, path, _)| (method, *path))
}

/// Rejects a named key that has expired at `now` (Unix seconds) or may not call this operation.
///
/// # Errors
/// [`Error::key_expired`], [`Error::test_key`] or [`Error::missing_right`].
pub fn demand(key: NamedKey, method: &Method, path: &str, now: u64) -> Result<(), Error> {
    if key.is_expired(now) {
        return Err(Error::key_expired());
    }
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut rows = RIGHTS.iter().filter(|(own, template, _)| own == method && *template == path);
    match rows.next() {
        // Checks and decisions with a test key cost nothing and reveal nothing, so it needs no right for either.
        Some((.., [Right::Checks | Right::Guard])) if key.is_test => Ok(()),
        _ if key.is_test => Err(Error::test_key()),
        Some((.., rights)) if rights.iter().any(|right| key.rights.has(*right)) => Ok(()),
        _ => Err(Error::missing_right()),
    }
}
