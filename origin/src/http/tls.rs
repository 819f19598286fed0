//! The TLS listener. Each handshake uses the current certificate, so that replacing it interrupts
//! no connection.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::serve::Listener;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::State;
use crate::service::fair_shares::FairShares;

/// Time limit of a handshake: two round trips, and the signature.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent handshakes; further connections wait in the kernel's queue.
const MAX_HANDSHAKES: usize = 4_096;
/// Concurrent handshakes of one address or /64; its further connections are closed, so that silent
/// clients only block themselves.
const MAX_OF_PEER: usize = 256;
/// Length of the queue of connections that are ready but not served yet.
const MAX_READY: usize = 256;

/// Listener that yields connections whose handshake is complete.
pub struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    accepting: JoinHandle<()>,
}

impl TlsListener {
    /// Serves TLS on `listener`, with [`State::certificate`].
    ///
    /// # Errors
    /// [`io::Error`] when the listener has no address.
    pub fn new(listener: TcpListener, state: Arc<State>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (done, ready) = mpsc::channel(MAX_READY);
        let accepting = tokio::spawn(accept(listener, state, done));
        Ok(Self { address, ready, accepting })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(ready) => ready,
            // The accepting task has panicked: no further connection can be served.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.address)
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    mut listener: TcpListener,
    state: Arc<State>,
    done: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    let peers = FairShares::new(MAX_OF_PEER, usize::MAX);
    loop {
        // The semaphore is never closed.
        let Ok(permit) = handshakes.clone().acquire_owned().await else { return };
        // The trait's method handles errors of single connections.
        let (stream, peer) = Listener::accept(&mut listener).await;
        let Some(certificate) = state.certificate.load_full() else { return };
        let Some(entry) = peers.enter(Some(network(peer.ip()))) else { continue };
        let done = done.clone();
        tokio::spawn(async move {
            no_delay(&stream);
            let handshake = TlsAcceptor::from(certificate.tls.clone()).accept(stream);
            if let Ok(Ok(stream)) = timeout(HANDSHAKE_TIMEOUT, handshake).await {
                drop((permit, entry));
                // Fails if the listener was dropped.
                let _ = done.send((stream, peer)).await;
            }
        });
    }
}

/// Returns the address, or the /64 for IPv6, which belongs to one client.
fn network(ip: IpAddr) -> Arc<str> {
    match ip.to_canonical() {
        IpAddr::V4(ip) => Arc::from(ip.to_string()),
        IpAddr::V6(ip) => Arc::from(format!("{:x}", ip.to_bits() >> 64)),
    }
}

/// Disables Nagle's algorithm, because responses are small. If that fails, the connection is only
/// slower.
pub fn no_delay(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}
