//! Work that continues after the response, or after the client has left.

use std::{future::Future, pin::Pin, sync::Arc};

use futures_channel::oneshot;
use worker::Context;

use crate::meter::{self, metered};

/// The request's `waitUntil`. The runtime stops work passed to it 30 s after the response is
/// sent or the client has left.
#[derive(Clone)]
pub struct Deferred(Arc<Context>);

impl Deferred {
    pub fn new(context: Context) -> Self {
        Self(Arc::new(context))
    }

    pub fn after_response(&self, work: impl Future<Output = ()> + 'static) {
        self.start(Box::pin(work));
    }

    /// All work has one type, because the runtime's promise around it is compiled for each type.
    fn start(&self, work: Pin<Box<dyn Future<Output = ()>>>) {
        self.0.wait_until(work);
    }

    /// Starts work that continues if the client disconnects, and waits for its result; `None` if the runtime has
    /// stopped it. Its costs are the request's.
    ///
    /// The work is boxed immediately: copies of nested checks at each step would overflow the stack of 1 MiB, and the
    /// request would hang.
    pub fn outliving<T: 'static>(
        &self,
        work: impl Future<Output = T> + 'static,
    ) -> impl Future<Output = Option<T>> {
        self.beside(Box::pin(work))
    }

    async fn beside<T: 'static>(
        &self,
        work: Pin<Box<impl Future<Output = T> + 'static>>,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let meter = meter::current();
        self.start(Box::pin(async move {
            let done = match meter {
                Some(meter) => metered(&meter, work).await,
                None => work.await,
            };
            // If the request has ended, nobody receives the result.
            let _ = sender.send(done);
        }));
        receiver.await.ok()
    }
}
