//! What belongs to one request.

use std::{future::Future, sync::Arc};

use worker::Context;

/// Joins the log lines of edge and origin and the answer's `X-Request-Id`. Made here, never taken from
/// the client: a client could put an address into it.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

/// Work that goes on after the answer has left, for at most 30 s.
#[derive(Clone)]
pub struct Deferred(Arc<Context>);

impl Deferred {
    #[must_use]
    pub fn new(context: Context) -> Self {
        Self(Arc::new(context))
    }

    pub fn after_response(&self, work: impl Future<Output = ()> + 'static) {
        self.0.wait_until(work);
    }
}
