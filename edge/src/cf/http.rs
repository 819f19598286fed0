//! The runtime's requests and responses as axum's. The library's own conversion makes a stream of every
//! body, which costs several turns of the event loop for the hundred bytes that ours have, and refuses
//! a request for one header that is not ASCII.

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header},
};
use worker::{Headers, ResponseBuilder, send::IntoSendFuture as _};

use crate::body::LIMIT;

/// A request whose body is in memory where it says that it fits, and a stream where it does not: what
/// reads it stops at its limit.
///
/// # Errors
/// The runtime's, when the client leaves before its body is here.
pub async fn request(mut from: worker::Request) -> worker::Result<Request<Body>> {
    let headers = headers(from.headers());
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let fits =
        length.and_then(|text| text.parse().ok()).is_some_and(|length: usize| length <= LIMIT);
    let method = Method::from_bytes(from.inner().method().as_bytes()).unwrap_or_default();
    let uri = from.inner().url().parse().unwrap_or_else(|_| Uri::from_static("/"));
    let body = match from.inner().body() {
        None => Body::empty(),
        Some(_) if fits => Body::from(from.bytes().into_send().await?),
        Some(stream) => Body::new(worker::Body::new(stream)),
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

fn headers(from: &Headers) -> HeaderMap {
    let entries = from.entries();
    let mut headers = HeaderMap::with_capacity(16);
    headers.extend(entries.filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    }));
    headers
}

/// A response whose body is in memory, as all of ours are.
///
/// # Errors
/// The runtime's, when it refuses a header.
pub async fn response(from: Response<Body>) -> worker::Result<worker::Response> {
    let (parts, body) = from.into_parts();
    let headers = Headers::new();
    for (name, value) in &parts.headers {
        if let Ok(value) = value.to_str() {
            headers.append(name.as_str(), value)?;
        }
    }
    let builder = ResponseBuilder::new().with_status(parts.status.as_u16()).with_headers(headers);
    // The runtime counts the bytes itself.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    Ok(if bytes.is_empty() { builder.empty() } else { builder.fixed(bytes.into()) })
}
