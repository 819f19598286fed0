//! The end of a dialogue: QUIT, and the replies that the server still owes.

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

/// Time that a server has for the replies it still owes. It occupies a socket meanwhile.
const FAREWELL: Duration = Duration::from_secs(2);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Session<S> {
    /// Says QUIT and does not wait: nothing the server does now changes the verdict. Replies that are still
    /// to come are read in the background before the connection is closed: to close it over them would
    /// reset it, and the reset may overtake QUIT.
    ///
    /// `held` is dropped after the connection is closed: the permit for it.
    pub fn quit(self, held: impl Send + 'static) {
        // What is named later is dropped sooner.
        let permit_guard = held;
        let mut session = self;
        let unread = session.outstanding > 0;
        if !session.quitting {
            let sending = pin!(session.send(Stage::Rcpt, [&Command::Quit]));
            // Polled once: six octets fit the socket's buffer, or the server has stopped reading.
            let outcome = sending.poll(&mut Context::from_waker(Waker::noop()));
            if !matches!(outcome, Poll::Ready(Ok(()))) {
                return;
            }
        }
        if unread {
            tokio::spawn(async move {
                let permit_guard = permit_guard;
                let _ = timeout(FAREWELL, session.part()).await;
                drop(permit_guard);
            });
        }
    }

    async fn part(mut self) {
        while self.outstanding > 0 && self.reply(Stage::Rcpt).await.is_ok() {}
    }
}
