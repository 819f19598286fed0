//! Headers of every response, and the log line of a request.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde::Serialize;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::{
    error::rate_limit,
    extract::{caller::API_KEY_HEADER, request::IDEMPOTENCY_KEY},
    meter::{Expenses, Party},
};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Headers that every API response has: no framing, no content sniffing.
const FIXED: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000; includeSubDomains"),
];

pub fn complete(headers: &mut HeaderMap, request_id: &str) {
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Responses aren't cached unless their handler allows it.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, value);
    }
}

const EXPOSED: [HeaderName; 6] = [
    REQUEST_ID,
    header::RETRY_AFTER,
    header::LINK,
    header::LOCATION,
    rate_limit::LIMIT,
    rate_limit::POLICY,
];

/// Lets browsers call from the portal's origin only. No cookies are involved.
pub fn cors(portal_url: &str) -> CorsLayer {
    let origin = HeaderValue::from_str(&origin_of(portal_url)).ok();
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origin))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            API_KEY_HEADER,
            IDEMPOTENCY_KEY,
        ])
        .expose_headers(EXPOSED)
}

fn origin_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    format!("{scheme}://{}", rest.split('/').next().unwrap_or_default())
}

/// A request's log line: the operation, the outcome, and the account or network ([`Party`]). It
/// contains no address, key or body.
#[derive(Debug, Serialize)]
pub struct LogLine<'a> {
    pub request_id: &'a str,
    pub method: &'a str,
    /// The route's path, or a placeholder for unknown paths, which clients can choose freely.
    pub route: &'a str,
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<&'static str>,
    #[serde(flatten)]
    pub party: Party,
    #[serde(flatten)]
    pub expenses: Expenses,
    pub wasm_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::origin_of;

    #[test]
    fn the_origin_of_a_portal_is_its_scheme_host_and_port() {
        assert_eq!(origin_of("https://portal.example/app"), "https://portal.example");
        assert_eq!(origin_of("http://localhost:8787"), "http://localhost:8787");
    }
}
