//! A client's connection: its requests in progress, and the time limits before and between them; a silent client is
//! disconnected. Those over which no valid ticket has come yet are strangers, limited in number for each network and in
//! total: one more closes the oldest. A stranger can't keep out even the edge from its own network: it shows its ticket
//! with its first request, and counts no longer.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::IpAddr,
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
    sync::Notify,
    time::{Instant, Sleep, sleep},
};

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

/// Strangers of all networks for one of a single network. With 16 KB of header and 25 KB of TLS each, 2,048 take 84 MB.
const NETWORKS: usize = 2;

/// Strangers of one network: twice `max_probes`, because an edge that opens more connections within a handshake's time
/// would close its own. Few probes leave room to its questions about our health.
pub(super) fn of_network(max_probes: usize) -> usize {
    max_probes.saturating_mul(2).max(1_024)
}

#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<ByNetwork>);

#[derive(Debug, Default)]
struct ByNetwork {
    by_network: HashMap<u64, VecDeque<(u64, Arc<Notify>)>>,
    count: usize,
    next_number: u64,
}

impl Strangers {
    pub(super) fn enter(self: &Arc<Self>, ip: IpAddr, most: usize) -> Stranger {
        let (network, closed) = (network(ip), Arc::new(Notify::new()));
        let mut lists = self.0.lock();
        if lists.by_network.get(&network).is_some_and(|list| list.len() >= most) {
            lists.close_oldest(network);
        } else if lists.count >= most.saturating_mul(NETWORKS) {
            let largest = lists.largest();
            largest.into_iter().for_each(|network| lists.close_oldest(network));
        }
        let number = lists.next_number;
        lists.next_number += 1;
        lists.count += 1;
        lists.by_network.entry(network).or_default().push_back((number, closed.clone()));
        Stranger { strangers: self.clone(), network, number, closed }
    }
}

impl ByNetwork {
    fn largest(&self) -> Option<u64> {
        let networks = self.by_network.iter();
        let largest = networks.max_by_key(|(_, list)| {
            let oldest = list.front().map_or(u64::MAX, |(number, _)| *number);
            (list.len(), std::cmp::Reverse(oldest))
        });
        largest.map(|(network, _)| *network)
    }

    fn close_oldest(&mut self, network: u64) {
        let oldest = self.by_network.get(&network).and_then(|list| list.front().cloned());
        if let Some((number, closed)) = oldest {
            closed.notify_one();
            self.remove(network, number);
        }
    }

    fn remove(&mut self, network: u64, number: u64) {
        let Some(list) = self.by_network.get_mut(&network) else { return };
        let Ok(position) = list.binary_search_by_key(&number, |(number, _)| *number) else {
            return;
        };
        list.remove(position);
        self.count -= 1;
        if list.is_empty() {
            self.by_network.remove(&network);
        }
    }
}

/// A connection, counted until it leaves the strangers or is dropped.
#[derive(Debug)]
pub(super) struct Stranger {
    strangers: Arc<Strangers>,
    network: u64,
    number: u64,
    closed: Arc<Notify>,
}

impl Stranger {
    pub(super) fn leave(&self) {
        self.strangers.0.lock().remove(self.network, self.number);
    }

    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.leave();
    }
}

/// For IPv6 the /64, which belongs to one client.
fn network(ip: IpAddr) -> u64 {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_bits().into(),
        // No /64 below 2^32 is in use: `::/32` is reserved (RFC 4291 §2.5.5).
        IpAddr::V6(ip) => u64::try_from(ip.to_bits() >> 64).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests;
