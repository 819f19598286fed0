//! The HTTP interface: the route table, and the request id that the logs of edge and origin share.

mod batch;
mod connection;
mod domain;
mod error;
mod health;
mod neighbours;
mod probe;
pub mod serve;

use std::sync::Arc;

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
pub use batch::ask_all;
pub use error::Error;
pub use neighbours::build_neighbours;
pub use probe::ask_one;

use crate::State;

/// An address has at most 254 bytes, and up to six times as many in JSON.
const BODY_BYTES_MAX: usize = 4 * 1_024;

/// Twice the size of 500 addresses of 254 bytes in JSON.
const BATCH_BODY_BYTES_MAX: usize = 256 * 1_024;

pub fn build(state: Arc<State>) -> Router {
    finish(public().merge(admin()), state)
}

pub fn build_public(state: Arc<State>) -> Router {
    finish(public(), state)
}

pub fn build_admin(state: Arc<State>) -> Router {
    finish(admin(), state)
}

fn public() -> Router<Arc<State>> {
    Router::new()
        .route("/v1/probe", post(probe::probe))
        .route(
            "/v1/probe/batch",
            post(batch::batch).layer(DefaultBodyLimit::max(BATCH_BODY_BYTES_MAX)),
        )
        .route("/v1/domain", post(domain::domain))
        .route("/health", get(health::health))
}

fn admin() -> Router<Arc<State>> {
    Router::new()
        .route("/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/operators", get(health::operators))
}

fn finish(router: Router<Arc<State>>, state: Arc<State>) -> Router {
    router
        .fallback(|| async { Error::NotFound })
        .method_not_allowed_fallback(|| async { Error::MethodNotAllowed })
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(name))
        .with_state(state)
}

const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const ID_CHARS_MAX: usize = 64;

/// The request id shared by the logs of edge and origin. The id comes from outside and is logged: only letters, digits,
/// hyphens and underscores are allowed, which excludes addresses.
#[derive(Debug, Clone)]
pub struct RequestId(String);

impl RequestId {
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let fine = (1..=ID_CHARS_MAX).contains(&text.len()) && text.bytes().all(plain);
        fine.then(|| Self(text.to_owned()))
    }

    fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(X_REQUEST_ID)?.to_str().ok()?)
    }

    fn random() -> Self {
        Self(format!("{:032x}", rand::random::<u128>()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn write(&self, headers: &mut HeaderMap) {
        if let Ok(value) = HeaderValue::from_str(&self.0) {
            headers.insert(X_REQUEST_ID, value);
        }
    }
}

async fn name(mut request: Request, next: Next) -> Response {
    let id = RequestId::of(request.headers()).unwrap_or_else(RequestId::random);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    if !response.headers().contains_key(X_REQUEST_ID) {
        id.write(response.headers_mut());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::RequestId;

    #[test]
    fn an_id_cannot_carry_an_address() {
        for fine in ["a", "0193-ab_C", &"x".repeat(64)] {
            assert_eq!(RequestId::parse(fine).unwrap().as_str(), fine);
        }
        for bad in ["", "a@b", "a.b", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(RequestId::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn a_random_id_is_an_id() {
        let id = RequestId::random();
        assert!(RequestId::parse(id.as_str()).is_some());
        assert_ne!(id.as_str(), RequestId::random().as_str());
    }
}
