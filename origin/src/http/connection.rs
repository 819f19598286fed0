//! Time limit for the header of an HTTP request. A slower client is disconnected; otherwise it
//! could keep a socket indefinitely.

use std::{
    fmt::Debug,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::{ConnectInfo, Request, connect_info::Connected},
    http::Version,
    middleware::Next,
    response::Response,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// Time from the connection, or from the first byte of a further request, to the end of the header.
pub(super) const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// A listener that limits the time for each header to [`HEADER_TIMEOUT`].
pub(super) struct HeaderLimit<L>(pub L);

impl<L: Listener<Addr: Debug>> Listener for HeaderLimit<L> {
    type Io = Limited<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (io, peer) = self.0.accept().await;
        let requests = Requests::default();
        (
            Limited {
                io,
                requests,
                started_before: 0,
                limit: Some(Box::pin(sleep(HEADER_TIMEOUT))),
            },
            peer,
        )
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// Counters of a connection's requests with complete headers.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<CountedRequests>);

#[derive(Debug, Default)]
struct CountedRequests {
    started: AtomicUsize,
    in_progress: AtomicUsize,
    /// True for HTTP/2, where frames arrive between requests too: a slow header blocks only its own
    /// connection, which has already sent a complete header.
    is_multiplexed: AtomicBool,
}

impl<L: Listener<Addr: Debug>> Connected<IncomingStream<'_, HeaderLimit<L>>> for Requests {
    fn connect_info(stream: IncomingStream<'_, HeaderLimit<L>>) -> Self {
        stream.io().requests.clone()
    }
}

/// Counts the request as in progress until it has its response.
pub(super) async fn count(
    ConnectInfo(requests): ConnectInfo<Requests>,
    request: Request,
    next: Next,
) -> Response {
    let _guard = requests.begin(request.version());
    next.run(request).await
}

impl Requests {
    fn begin(&self, version: Version) -> InProgress {
        self.0.is_multiplexed.fetch_or(version == Version::HTTP_2, Ordering::Relaxed);
        self.0.in_progress.fetch_add(1, Ordering::Relaxed);
        self.0.started.fetch_add(1, Ordering::Relaxed);
        InProgress(self.clone())
    }
}

struct InProgress(Requests);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.0.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection whose reads fail when a header takes too long.
pub(super) struct Limited<S> {
    io: S,
    requests: Requests,
    /// Number of requests that had started when the limit was last checked.
    started_before: usize,
    /// Timer that runs while a header is incomplete.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Limited<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let started = this.requests.0.started.load(Ordering::Relaxed);
        if started != std::mem::replace(&mut this.started_before, started) {
            this.limit = None;
        }
        let before = buffer.filled().len();
        let late = Err(io::ErrorKind::TimedOut.into());
        match (Pin::new(&mut this.io).poll_read(context, buffer), &mut this.limit) {
            (Poll::Ready(_), Some(limit)) if limit.deadline() <= Instant::now() => {
                Poll::Ready(late)
            }
            (Poll::Ready(read), limit) => {
                let is_header = this.requests.0.in_progress.load(Ordering::Relaxed) == 0
                    && !this.requests.0.is_multiplexed.load(Ordering::Relaxed);
                if is_header && buffer.filled().len() > before {
                    limit.get_or_insert_with(|| Box::pin(sleep(HEADER_TIMEOUT)));
                }
                Poll::Ready(read)
            }
            (Poll::Pending, None) => Poll::Pending,
            (Poll::Pending, Some(limit)) => limit.as_mut().poll(context).map(|()| late),
        }
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
