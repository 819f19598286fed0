//! Commands out, replies in.

use std::{
    future::poll_fn,
    mem::MaybeUninit,
    pin::Pin,
    task::{Poll, ready},
    time::Duration,
};

use rcpt_shared::Stage;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    time::{timeout, timeout_at},
};

use super::{Broken, Command, Failure, Reply, Session};

/// Bytes read per call. An EHLO reply has about 250 bytes.
const READ_BYTES: usize = 512;

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    /// True if the server has been silent since its last reply. Any text received since then, most likely a closing
    /// message, would be read as the reply to the next command.
    pub async fn is_quiet(&mut self) -> bool {
        let mut octet = [0];
        poll_fn(|cx| {
            let read = Pin::new(&mut self.wire).poll_read(cx, &mut ReadBuf::new(&mut octet));
            Poll::Ready(read.is_pending())
        })
        .await
    }

    pub(super) async fn is_quiet_for(&mut self, time: Duration) -> bool {
        let mut octet = [0];
        let read = poll_fn(|cx| {
            Pin::new(&mut self.wire).poll_read(cx, &mut ReadBuf::new(&mut octet)).map(drop)
        });
        timeout(time, read).await.is_err()
    }

    /// All commands go into one write.
    pub(super) async fn send<'c>(
        &mut self,
        stage: Stage,
        commands: impl IntoIterator<Item = &'c Command<'c>>,
    ) -> Result<(), Failure> {
        if self.outstanding == 0 && !self.parser.is_empty() {
            return Err(self.reject_unsolicited(stage));
        }
        let mut flight = Vec::with_capacity(128);
        for command in commands {
            command.encode(&mut flight).map_err(|_| Failure::Broken(stage, Broken::Unencodable))?;
            self.outstanding += 1;
        }
        let closed = |_| Failure::Broken(stage, Broken::Closed);
        self.wire.write_all(&flight).await.map_err(closed)?;
        self.wire.flush().await.map_err(closed)
    }

    /// Text that the server sends without a command would be read as the reply to the next command. Only 421 may come
    /// at any time (RFC 5321 §3.8).
    fn reject_unsolicited(&mut self, stage: Stage) -> Failure {
        self.quitting = true;
        match self.parser.next_reply() {
            Ok(Some(reply)) if reply.code == 421 => Failure::Refused(stage, reply),
            _ => Failure::Broken(stage, Broken::Garbage),
        }
    }

    /// The time limit applies to the reply's beginning only: a server that sends `220-` and completes it six seconds
    /// later (postscreen's greet pause) isn't silent.
    pub(super) async fn reply(&mut self, stage: Stage) -> Result<Reply, Failure> {
        let garbage = |_| Failure::Broken(stage, Broken::Garbage);
        loop {
            if let Some(reply) = self.parser.next_reply().map_err(garbage)? {
                self.outstanding = self.outstanding.saturating_sub(1);
                return Ok(reply);
            }
            let begins = self.parser.is_empty() && stage < Stage::Rcpt;
            let patience = self.patience.filter(|_| begins);
            match patience {
                None => self.receive(stage).await?,
                Some(patience) => timeout_at(patience.until(stage), self.receive(stage))
                    .await
                    .map_err(|_| Failure::Silent(stage))??,
            }
        }
    }

    /// While the server is silent, no buffer is allocated.
    async fn receive(&mut self, stage: Stage) -> Result<(), Failure> {
        let Self { wire, parser, .. } = self;
        poll_fn(|cx| {
            let mut octets = [const { MaybeUninit::uninit() }; READ_BYTES];
            let mut received = ReadBuf::uninit(&mut octets);
            let read = ready!(Pin::new(&mut *wire).poll_read(cx, &mut received));
            Poll::Ready(match (read, received.filled()) {
                (Err(_), _) | (Ok(()), []) => Err(Failure::Broken(stage, Broken::Closed)),
                (Ok(()), octets) => {
                    parser.feed(octets).map_err(|_| Failure::Broken(stage, Broken::Garbage))
                }
            })
        })
        .await
    }
}
