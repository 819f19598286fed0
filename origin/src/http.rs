//! The HTTP interface: the route table.

mod batch;
mod connection;
mod domain;
mod error;
mod health;
mod held_lines;
mod neighbours;
mod probe;
mod request_id;
pub mod serve;
mod strangers;

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post},
};

use crate::{Config, State};
pub use batch::ask_all;
pub use error::Error;
pub use probe::ask_one;
pub use request_id::RequestId;

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

pub fn build_neighbours(config: &Config) -> Router {
    neighbours::router(config)
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
        .layer(middleware::from_fn(request_id::name))
        .with_state(state)
}
