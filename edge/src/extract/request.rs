//! What belongs to one request: its id, and the work that outlives its answer.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::{cf::deferred::Deferred, error::Error};

/// Put into every request's extensions by the roof.
#[derive(Clone)]
pub struct RequestContext {
    /// Joins the log lines of edge and origin and the answer's `X-Request-Id`. Made here, never taken
    /// from the client: a client could put an address into it.
    pub id: String,
    pub deferred: Deferred,
}

impl<S: Sync> FromRequestParts<S> for RequestContext {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let context = parts.extensions.get().cloned();
        context.ok_or_else(|| Error::internal("a request without its context"))
    }
}
