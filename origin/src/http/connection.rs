//! A client's connection: its requests in progress, and the time limits before and between them; a silent client is
//! disconnected.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

use super::strangers::Stranger;

/// Time from the connection to the end of the first header.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time from the end of a response to the end of the next header.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) struct Connection {
    requests: Arc<Mutex<Requests>>,
    stranger: Arc<Stranger>,
}

#[derive(Debug)]
struct Requests {
    in_progress: usize,
    due: Instant,
}

impl Connection {
    pub(super) fn new(stranger: Arc<Stranger>) -> Self {
        let requests = Requests { in_progress: 0, due: Instant::now() + HEADER_TIMEOUT };
        Self { requests: Arc::new(Mutex::new(requests)), stranger }
    }

    /// A request with a valid ticket came over this connection: it's the edge's.
    pub(super) fn prove(&self) {
        self.stranger.leave();
    }

    /// The request counts as in progress until the value is dropped.
    pub(super) fn begin(&self) -> InProgress {
        self.requests.lock().in_progress += 1;
        InProgress(self.requests.clone())
    }

    fn due(&self) -> Option<Instant> {
        let requests = self.requests.lock();
        (requests.in_progress == 0).then_some(requests.due)
    }
}

pub(super) struct InProgress(Arc<Mutex<Requests>>);

impl Drop for InProgress {
    fn drop(&mut self) {
        let mut requests = self.0.lock();
        requests.in_progress -= 1;
        requests.due = Instant::now() + IDLE_TIMEOUT;
    }
}

/// A response's body; its request is in progress until the body has been sent.
pub(super) struct Counted {
    pub body: axum::body::Body,
    pub _in_progress: InProgress,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

pub(super) struct Limited<S> {
    io: S,
    connection: Connection,
    /// Looks at the connection again, at the latest when the header may be late.
    timer: Pin<Box<Sleep>>,
}

impl<S> Limited<S> {
    pub(super) fn new(io: S, connection: Connection) -> Self {
        Self { io, connection, timer: Box::pin(sleep(HEADER_TIMEOUT)) }
    }

    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            let (due, now) = (self.connection.due(), Instant::now());
            if due.is_some_and(|due| due <= now) {
                return true;
            }
            if self.timer.as_mut().poll(context).is_pending() {
                return false;
            }
            // A request in progress may end now at the earliest.
            self.timer.as_mut().reset(due.unwrap_or(now + IDLE_TIMEOUT));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Limited<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.is_late(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut this.io).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Limited<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, octets)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
