//! The runtime's requests and responses as axum's. The library's own conversion makes a stream of every
//! body, which costs several turns of the event loop for the hundred bytes that ours have, and refuses
//! a request for one header that is not ASCII.
//!
//! The cost of a crossing between wasm and JavaScript doesn't depend on its size: the head of a request crosses as one
//! JSON text, and so does that of a response. Of a request's headers, to which Cloudflare adds some twenty, only those
//! in `READ` cross; an extractor finds another one only after it is added there.

use std::sync::LazyLock;

use axum::{
    body::{Body, to_bytes},
    http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header},
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
    extract::{
        caller::{API_KEY_HEADER, UNATTENDED},
        client_network,
        continent::Continent,
        device,
        json_body::limit_of,
        request::IDEMPOTENCY_KEY,
    },
    routes::operator,
};

/// Builds a request with its whole body in memory, up to the largest accepted size: the rest is read and dropped, and
/// the reader finds it too large.
///
/// # Errors
/// The runtime's, when the client leaves before its body is here.
pub async fn request(from: web_sys::Request) -> worker::Result<Request<Body>> {
    let Head { method, url, headers } = serde_json::from_str(&glue::head_of(&from, &NAMES))?;
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
    // Only a registration needs to know the continent, and it has no key.
    if !request.headers().contains_key(API_KEY_HEADER)
        && let Some(continent) = continent(&from)
    {
        request.extensions_mut().insert(continent);
    }
    Ok(request)
}

/// The body up to one byte behind the limit.
async fn bytes(from: &web_sys::Request, limit: usize) -> worker::Result<Vec<u8>> {
    let buffer = JsFuture::from(glue::body_of(from, limit)).into_send().await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// Cloudflare gives the client's location as a property of the request, not as a header.
fn continent(from: &web_sys::Request) -> Option<Continent> {
    let cf = Reflect::get(from, &JsValue::from_str("cf")).ok()?;
    let continent = Reflect::get(&cf, &JsValue::from_str("continent")).ok()?;
    continent.as_string().map(Continent)
}

/// The headers of a request that anything in the edge reads; the router knows no others.
const READ: [HeaderName; 14] = [
    API_KEY_HEADER,
    header::AUTHORIZATION,
    // Headers that the CORS layer reads.
    header::ORIGIN,
    header::ACCESS_CONTROL_REQUEST_METHOD,
    header::ACCESS_CONTROL_REQUEST_HEADERS,
    client_network::HEADER,
    device::COUNTRY_HEADER,
    header::USER_AGENT,
    IDEMPOTENCY_KEY,
    // Results of a scan come in three forms.
    header::ACCEPT,
    operator::ID,
    operator::TIMESTAMP,
    operator::SIGNATURE,
    UNATTENDED,
];

/// `READ` as one text.
static NAMES: LazyLock<String> = LazyLock::new(|| READ.map(|name| name.to_string()).join(","));

/// The part of a request that crosses in one call.
#[derive(Deserialize)]
struct Head {
    method: String,
    url: String,
    /// The values of `READ`, in its order.
    headers: Vec<Option<String>>,
}

/// Options of the runtime's `Response` beside a body (Fetch §5.5, `ResponseInit`).
#[derive(Serialize)]
struct Init<'a> {
    status: u16,
    headers: Vec<(&'a str, &'a str)>,
}

/// Builds a response whose body is a text in memory, like all of the Worker's.
///
/// # Errors
/// The runtime's, when it refuses a header.
pub async fn response(from: Response<Body>) -> worker::Result<web_sys::Response> {
    let (parts, body) = from.into_parts();
    let headers = parts
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .collect();
    let init = serde_json::to_string(&Init { status: parts.status.as_u16(), headers })?;
    // The runtime counts the bytes itself.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.is_empty());
    Ok(glue::answer(text, &init)?)
}
