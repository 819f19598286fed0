//! The HTTP listener and its shutdown.

use std::{convert::Infallible, future::Future, io, pin::pin, sync::Arc, time::Duration};

use axum::{Router, extract::Request, serve::Listener};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    signal::unix::{SignalKind, signal},
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use super::connection::{Connection, Counted, Limited, Stranger, Strangers, of_network};
use crate::State;

/// Two round trips, and the signature.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The edge's ticket has 600 bytes.
const HEADER_BYTES_MAX: u16 = 16 * 1_024;

/// Serves `router` until `shutdown`, then accepts no further requests and waits for those in progress, for at most
/// `grace`. If it `speaks_tls`, connections are encrypted with [`State::certificate`]: each handshake uses the current
/// certificate, so that replacing it interrupts no connection.
pub async fn serve(
    mut listener: TcpListener,
    (state, speaks_tls): (Arc<State>, bool),
    router: Router,
    shutdown: impl Future<Output = ()>,
    grace: Duration,
) {
    let strangers = Arc::new(Strangers::default());
    // Connections hold a sender of each: the first says when to stop, the second counts them.
    let (stopping, until_shutdown) = watch::channel(());
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            // The trait's method handles errors of single connections.
            accepted = Listener::accept(&mut listener) => accepted,
            () = &mut shutdown => break,
        };
        // Responses are small. If this fails, the connection is only slower.
        let _ = stream.set_nodelay(true);
        let most = of_network(state.prober.config().max_probes);
        let stranger = Arc::new(strangers.enter(peer.ip(), most));
        let tls = speaks_tls.then(|| state.clone());
        let (router, alive) = (router.clone(), alive.clone());
        let stopping = stopping.clone();
        tokio::spawn(async move {
            let _alive = alive;
            tokio::select! {
                () = converse(stream, tls, router, stranger.clone(), &stopping) => {}
                () = stranger.closed() => {}
            }
        });
    }
    drop((listener, until_shutdown, alive));
    if timeout(grace, ended.recv()).await.is_err() {
        tracing::warn!("shutdown grace is over; requests in progress are dropped");
    }
}

async fn converse(
    stream: TcpStream,
    tls: Option<Arc<State>>,
    router: Router,
    stranger: Arc<Stranger>,
    stopping: &watch::Sender<()>,
) {
    let Some(state) = tls else { return speak(stream, router, stranger, stopping).await };
    let Some(certificate) = state.certificate.load_full() else { return };
    let handshake = TlsAcceptor::from(certificate.tls.clone()).accept(stream);
    let encrypted = tokio::select! {
        encrypted = timeout(HANDSHAKE_TIMEOUT, handshake) => encrypted,
        () = stopping.closed() => return,
    };
    if let Ok(Ok(stream)) = encrypted {
        speak(stream, router, stranger, stopping).await;
    }
}

pub(super) async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    router: Router,
    stranger: Arc<Stranger>,
    stopping: &watch::Sender<()>,
) {
    let connection = Connection::new(stranger);
    let io = TokioIo::new(Limited::new(stream, connection.clone()));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let in_progress = connection.begin();
        request.extensions_mut().insert(connection.clone());
        let answer = router.clone().call(Request::from(request));
        async move {
            let counted = |body| Counted { body, _in_progress: in_progress };
            answer.await.map(|response| response.map(counted))
        }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().max_buf_size(HEADER_BYTES_MAX.into());
    builder.http2().max_header_list_size(HEADER_BYTES_MAX.into());
    let mut speaking = pin!(builder.serve_connection(io, service));
    tokio::select! {
        // Errors are the client's.
        _ = speaking.as_mut() => return,
        () = stopping.closed() => speaking.as_mut().graceful_shutdown(),
    }
    let _ = speaking.await;
}

/// On SIGTERM or SIGINT.
pub fn signals() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
