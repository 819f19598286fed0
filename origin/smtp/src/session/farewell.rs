//! The end of a conversation: QUIT, and the replies that the server still owes.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use rcpt_shared::Stage;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::Session;
use crate::Command;

/// The socket stays open for this time.
const REPLIES_TIMEOUT: Duration = Duration::from_secs(2);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Session<S> {
    /// Sends QUIT and doesn't wait, because nothing can change the verdict any more. Outstanding
    /// replies are read in the background before the connection is closed: closing it with unread
    /// data would send a reset, which may overtake QUIT.
    ///
    /// `permit`, the connection's permit, is dropped after the connection is closed.
    pub fn quit(self, permit: impl Send + 'static) {
        // Variables are dropped in reverse order, so the permit is last.
        let permit_guard = permit;
        let mut session = self;
        let unread = session.outstanding > 0;
        if !session.quitting {
            let sending = pin!(session.send(Stage::Rcpt, [&Command::Quit]));
            // Polled once: either the six bytes fit into the socket's buffer, or the server has
            // stopped reading.
            let outcome = sending.poll(&mut Context::from_waker(Waker::noop()));
            if !matches!(outcome, Poll::Ready(Ok(()))) {
                return;
            }
        }
        if unread {
            tokio::spawn(async move {
                let permit_guard = permit_guard;
                let _ = timeout(REPLIES_TIMEOUT, session.part()).await;
                drop(permit_guard);
            });
        }
    }

    async fn part(mut self) {
        while self.outstanding > 0 && self.reply(Stage::Rcpt).await.is_ok() {}
    }
}
