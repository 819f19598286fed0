//! The runtime's requests and responses as axum's. The library's own conversion makes a stream of every
//! body, which costs several turns of the event loop for the hundred bytes that ours have, and refuses
//! a request for one header that is not ASCII.
//!
//! What a crossing between wasm and JavaScript costs does not depend on its size: of a request's headers,
//! of which Cloudflare adds some twenty, only those in `READ` cross; an extractor for another one finds
//! nothing until it is added there. Those of an answer cross as one JSON text.

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header},
};
use serde::Serialize;
use worker::{
    js_sys::{JSON, Reflect, Uint8Array, futures::JsFuture},
    send::IntoSendFuture as _,
    wasm_bindgen::{JsCast as _, JsValue},
    web_sys,
};

use crate::extract::{
    caller::API_KEY_HEADER, client_network, continent::Continent, device, json_body::LIMIT,
    request::IDEMPOTENCY_KEY,
};

/// A request whose body is in memory where it says that it fits, and a stream where it does not: what
/// reads it stops at its limit.
///
/// # Errors
/// The runtime's, when the client leaves before its body is here.
pub async fn request(from: web_sys::Request) -> worker::Result<Request<Body>> {
    let method = Method::from_bytes(from.method().as_bytes()).unwrap_or_default();
    let headers = headers(&from.headers(), method == Method::POST);
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let body = match length.and_then(|text| text.parse::<usize>().ok()) {
        Some(0) => Body::empty(),
        Some(length) if length <= LIMIT => Body::from(bytes(&from).await?),
        _ => from.body().map_or_else(Body::empty, |stream| Body::new(worker::Body::new(stream))),
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = from.url().parse().unwrap_or_else(|_| Uri::from_static("/"));
    *request.headers_mut() = headers;
    // Only a registration needs to know the continent, and it has no key.
    if !request.headers().contains_key(API_KEY_HEADER)
        && let Some(continent) = continent(&from)
    {
        request.extensions_mut().insert(continent);
    }
    Ok(request)
}

/// The whole body.
///
/// # Errors
/// The runtime's, when the client leaves before it is here.
pub async fn bytes(from: &web_sys::Request) -> worker::Result<Vec<u8>> {
    let buffer = JsFuture::from(from.array_buffer()?).into_send().await?;
    Ok(Uint8Array::new(&buffer).to_vec())
}

/// What Cloudflare knows of the client's whereabouts is a property of the request, no header.
fn continent(from: &web_sys::Request) -> Option<Continent> {
    let cf = Reflect::get(from, &JsValue::from_str("cf")).ok()?;
    let continent = Reflect::get(&cf, &JsValue::from_str("continent")).ok()?;
    continent.as_string().map(Continent)
}

/// The headers of a request that anything in the edge reads; the router knows no others.
const READ: [HeaderName; 9] = [
    API_KEY_HEADER,
    header::AUTHORIZATION,
    header::CONTENT_LENGTH,
    // What the CORS layer looks at.
    header::ORIGIN,
    header::ACCESS_CONTROL_REQUEST_METHOD,
    header::ACCESS_CONTROL_REQUEST_HEADERS,
    client_network::HEADER,
    device::COUNTRY_HEADER,
    header::USER_AGENT,
];

fn headers(from: &web_sys::Headers, is_post: bool) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(READ.len().saturating_add(1));
    // Results of a scan come in three forms.
    let further = if is_post { IDEMPOTENCY_KEY } else { header::ACCEPT };
    headers.extend(READ.into_iter().chain([further]).filter_map(|name| {
        let value = from.get(name.as_str()).ok()??;
        Some((name, HeaderValue::from_maybe_shared(value.into_bytes()).ok()?))
    }));
    headers
}

/// What the runtime takes beside a body (Fetch §5.5, `ResponseInit`).
#[derive(Serialize)]
struct Init<'a> {
    status: u16,
    headers: Vec<(&'a str, &'a str)>,
}

/// A response whose body is a text in memory, as all of ours are.
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
    let init: web_sys::ResponseInit = JSON::parse(&init)?.unchecked_into();
    // The runtime counts the bytes itself.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.is_empty());
    Ok(web_sys::Response::new_with_opt_str_and_init(text, &init)?)
}
