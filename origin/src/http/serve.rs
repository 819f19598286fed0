//! The HTTP listener and its shutdown.

use std::{fmt::Debug, future::Future, io, time::Duration};

use axum::{Router, middleware, serve::Listener};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    time::sleep,
};

use super::header_limit::{self, HeaderLimit, Requests};

/// Serves `router` until `shutdown`, then accepts no further requests and waits for those in
/// progress, for at most `grace`.
///
/// # Errors
/// [`io::Error`] of the listener.
pub async fn serve<L: Listener<Addr: Debug>>(
    listener: L,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
) -> io::Result<()> {
    let (stopping, stopped) = oneshot::channel();
    let router = router.layer(middleware::from_fn(header_limit::count));
    let service = router.into_make_service_with_connect_info::<Requests>();
    let server = axum::serve(HeaderLimit(listener), service).with_graceful_shutdown(async move {
        shutdown.await;
        // Fails if the server has already ended.
        let _ = stopping.send(());
    });
    let out_of_grace = async {
        if stopped.await.is_ok() {
            sleep(grace).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        ended = server => ended,
        () = out_of_grace => {
            tracing::warn!("shutdown grace is over; requests in progress are dropped");
            Ok(())
        }
    }
}

/// Completes on SIGTERM or SIGINT.
///
/// # Errors
/// [`io::Error`] when the signal handlers can't be installed.
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
