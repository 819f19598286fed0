//! Converts the runtime's requests and responses to axum's, and gives each response its headers. The `worker` crate's
//! conversion turns every body into a stream, which costs several turns of the event loop for a hundred bytes. The
//! crate also rejects a request with any header that isn't ASCII.
//!
//! A call between wasm and JavaScript costs the same for any size. The head of a request or a response is therefore
//! passed as one JSON text. Cloudflare adds about twenty headers to a request. Only headers in `READ` are passed: add
//! each header that an extractor needs.

use std::sync::LazyLock;

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header},
};
use serde::{Deserialize, Serialize};
use worker::{
    js_sys::{Reflect, Uint8Array, futures::JsFuture},
    send::IntoSendFuture as _,
    wasm_bindgen::JsValue,
    web_sys,
};

use crate::{
    cf::glue,
    credentials::signed_message,
    extract::{
        caller::API_KEY_HEADER, client_network, continent::Continent, device, json_body::limit_of,
        request::IDEMPOTENCY_KEY,
    },
    json,
};

/// Builds a request with its body in memory. A body above the largest accepted size is cut off
/// after one byte more, and is rejected as too large.
pub async fn request(from: web_sys::Request) -> worker::Result<Request<Body>> {
    let head = glue::head_of(&from, &NAMES);
    let Head { method, url, headers } = json::read(head.as_bytes()).map_err(|_| "no head")?;
    let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
    let uri: Uri = url.parse().unwrap_or_else(|_| Uri::from_static("/"));
    let limit = limit_of(uri.path());
    let body = match method {
        Method::GET | Method::HEAD => Body::empty(),
        _ => Body::from(bytes(&from, limit).await?),
    };
    let mut request = Request::new(body);
    request.headers_mut().extend(READ.iter().zip(headers).filter_map(|(name, value)| {
        Some((name.clone(), HeaderValue::from_maybe_shared(value?.into_bytes()).ok()?))
    }));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    // Only registrations need the continent, and they have no key.
    if !request.headers().contains_key(API_KEY_HEADER)
        && let Some(continent) = continent(&from)
    {
        request.extensions_mut().insert(continent);
    }
    Ok(request)
}

async fn bytes(from: &web_sys::Request, limit: usize) -> worker::Result<Vec<u8>> {
    let buffer = JsFuture::from(glue::body_of(from, limit)).into_send().await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// Cloudflare passes the continent as a property of the request instead of a header.
fn continent(from: &web_sys::Request) -> Option<Continent> {
    let cf = Reflect::get(from, &JsValue::from_str("cf")).ok()?;
    let continent = Reflect::get(&cf, &JsValue::from_str("continent")).ok()?;
    continent.as_string().map(Continent)
}

/// The router sees no other headers.
const READ: [HeaderName; 11] = [
    API_KEY_HEADER,
    header::AUTHORIZATION,
    header::ORIGIN,
    client_network::HEADER,
    device::COUNTRY_HEADER,
    header::USER_AGENT,
    IDEMPOTENCY_KEY,
    // Selects one of the three forms of a scan's results.
    header::ACCEPT,
    signed_message::ID,
    signed_message::TIMESTAMP,
    signed_message::SIGNATURE,
];

static NAMES: LazyLock<String> = LazyLock::new(|| READ.map(|name| name.to_string()).join(","));

#[derive(Deserialize)]
struct Head {
    method: String,
    url: String,
    headers: Vec<Option<String>>,
}

/// Options for the runtime's `Response` besides the body (Fetch §5.5, `ResponseInit`).
#[derive(Serialize)]
struct Init<'a> {
    status: u16,
    headers: Vec<(&'a str, &'a str)>,
}

pub async fn response(from: Response<Body>) -> worker::Result<web_sys::Response> {
    let (parts, body) = from.into_parts();
    let headers = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let init = serde_json::to_string(&Init { status: parts.status.as_u16(), headers })?;
    // No limit is needed: the body was built in memory.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.is_empty());
    Ok(glue::answer(text, &init)?)
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// No framing, no content sniffing.
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

const METHODS: &str = "GET,POST,PUT,DELETE";
const ALLOWED: &str = "authorization,content-type,x-api-key,idempotency-key";
const EXPOSED: &str = "x-request-id,retry-after,link,location,ratelimit,ratelimit-policy";

/// Lets browsers call from the portal's origin only (Fetch §3.3). No cookies are involved. `origin` is the request's
/// header; a preflight has no other answer.
pub fn share(
    headers: &mut HeaderMap,
    portal_url: &str,
    origin: Option<HeaderValue>,
    is_preflight: bool,
) {
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let ours = origin_of(portal_url);
    let Some(origin) = origin.filter(|origin| origin.as_bytes() == ours.as_bytes()) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let mut add = |name, value| headers.insert(name, HeaderValue::from_static(value));
    if is_preflight {
        add(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        add(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED);
    } else {
        add(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

fn origin_of(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    format!("{scheme}://{}", rest.split('/').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::{ALLOWED, EXPOSED, REQUEST_ID, origin_of};
    use crate::{
        error::rate_limit,
        extract::{caller::API_KEY_HEADER, request::IDEMPOTENCY_KEY},
    };

    #[test]
    fn browsers_may_send_and_read_the_headers_that_the_edge_reads_and_sends() {
        let listed = |names: &[&header::HeaderName]| {
            names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",")
        };
        let sent =
            [&header::AUTHORIZATION, &header::CONTENT_TYPE, &API_KEY_HEADER, &IDEMPOTENCY_KEY];
        assert_eq!(ALLOWED, listed(&sent));
        let (wait, link, place) = (&header::RETRY_AFTER, &header::LINK, &header::LOCATION);
        let limits = [&rate_limit::LIMIT, &rate_limit::POLICY];
        assert_eq!(EXPOSED, listed(&[&REQUEST_ID, wait, link, place, limits[0], limits[1]]));
    }

    #[test]
    fn the_origin_of_a_portal_is_its_scheme_host_and_port() {
        assert_eq!(origin_of("https://portal.example/app"), "https://portal.example");
        assert_eq!(origin_of("http://localhost:8787"), "http://localhost:8787");
    }
}
