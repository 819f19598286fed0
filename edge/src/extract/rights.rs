//! The right of a key that each operation requires. Keys can't call operations that aren't listed.

use axum::http::Method;

use crate::{
    credentials::api_key::{ApiKey, Right},
    error::Error,
};

/// Method and path of each operation that keys may call, with its rights: a key needs one of them.
const RIGHTS: &[(Method, &str, &[Right])] = &[
    (Method::POST, "/v1/validate_email", &[Right::Checks, Right::Sandbox]),
    (Method::POST, "/v1/validate_emails", &[Right::Checks, Right::Sandbox]),
    (Method::POST, "/v1/domains", &[Right::Checks, Right::Sandbox]),
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
    (Method::POST, "/v1/guard/decide", &[Right::Guard, Right::Sandbox]),
];

#[cfg(test)]
pub fn operations() -> impl Iterator<Item = (&'static Method, &'static str)> {
    RIGHTS.iter().map(|(method, path, _)| (method, *path))
}

/// Rejects a key that has expired at `now` (Unix seconds) or may not call this operation.
pub fn demand(key: ApiKey, method: &Method, path: &str, now: u64) -> Result<(), Error> {
    if key.is_expired(now) {
        return Err(Error::key_expired());
    }
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut rows = RIGHTS.iter().filter(|(own, template, _)| own == method && *template == path);
    match rows.next() {
        Some((.., rights)) if rights.iter().any(|right| key.rights.has(*right)) => Ok(()),
        _ if key.rights.is_test() => Err(Error::test_key()),
        Some((.., rights)) => {
            // The test keys' right isn't what a key lacks.
            let rights = rights.iter().filter(|right| **right != Right::Sandbox);
            let names: Vec<_> = rights.map(|right| right.as_str()).collect();
            Err(Error::missing_right(names.join(" or ")))
        }
        None => Err(Error::session_only()),
    }
}
