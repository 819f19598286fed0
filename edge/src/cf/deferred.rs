//! Work that goes on after the answer has left.

use std::{future::Future, sync::Arc};

use worker::Context;

/// The request's `waitUntil`: the runtime lets such work run for at most 30 s.
#[derive(Clone)]
pub struct Deferred(Arc<Context>);

impl Deferred {
    pub fn new(context: Context) -> Self {
        Self(Arc::new(context))
    }

    pub fn after_response(&self, work: impl Future<Output = ()> + 'static) {
        self.0.wait_until(work);
    }
}
