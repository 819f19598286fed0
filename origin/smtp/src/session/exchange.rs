//! Commands out, replies in, and the farewell.

use std::{
    future::poll_fn,
    mem::MaybeUninit,
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use rcpt_shared::Stage;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    time::{Instant, timeout, timeout_at},
};

use super::{Broken, Failure, Reply, Session};

/// Greatest length of a command line, including CRLF, in bytes (RFC 5321 §4.5.3.1.4).
const COMMAND_LINE_BYTES_MAX: usize = 512;

#[derive(Clone, Copy)]
pub enum Command<'a> {
    Ehlo(&'a str),
    Helo(&'a str),
    StartTls,
    /// The reverse-path without brackets; empty for the null reverse-path.
    Mail {
        reverse_path: &'a str,
        /// True to send the parameter for a UTF-8 mailbox (RFC 6531 §3.4).
        smtputf8: bool,
    },
    /// The forward-path without brackets.
    Rcpt(&'a str),
    Rset,
    Quit,
}

impl<'a> Command<'a> {
    const fn pieces(self) -> [&'a str; 3] {
        match self {
            Self::Ehlo(name) => ["EHLO ", name, ""],
            Self::Helo(name) => ["HELO ", name, ""],
            Self::StartTls => ["STARTTLS", "", ""],
            Self::Mail { reverse_path, smtputf8: false } => ["MAIL FROM:<", reverse_path, ">"],
            Self::Mail { reverse_path, smtputf8: true } => {
                ["MAIL FROM:<", reverse_path, "> SMTPUTF8"]
            }
            Self::Rcpt(forward_path) => ["RCPT TO:<", forward_path, ">"],
            Self::Rset => ["RSET", "", ""],
            Self::Quit => ["QUIT", "", ""],
        }
    }
}

/// The line would contain CR, LF or NUL, or more than 512 bytes. The line isn't shown, because it may contain an
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a command line")]
pub struct Unencodable;

impl Command<'_> {
    /// Appends the line and its CRLF to `flight`. Last check before sending: whatever the arguments, one command is one
    /// line. After an error, `flight` is unchanged.
    pub fn encode(&self, flight: &mut Vec<u8>) -> Result<(), Unencodable> {
        let start = flight.len();
        for piece in self.pieces() {
            flight.extend_from_slice(piece.as_bytes());
        }
        let line = flight.get(start..).unwrap_or_default();
        let breaks = line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        if breaks || line.len() + 2 > COMMAND_LINE_BYTES_MAX {
            flight.truncate(start);
            return Err(Unencodable);
        }
        flight.extend_from_slice(b"\r\n");
        Ok(())
    }
}

/// Latest times for the first byte of a server's replies before RCPT. At RCPT a server looks up the
/// recipient, which may take all of the caller's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub banner: Instant,
    /// Latest time for all replies after the banner.
    pub dialogue: Instant,
}

impl Patience {
    pub(super) const fn until(self, stage: Stage) -> Instant {
        match stage {
            Stage::Banner => self.banner,
            _ => self.dialogue,
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::{Command, Unencodable};

    fn encoded(command: Command<'_>) -> Result<String, Unencodable> {
        let mut flight = Vec::new();
        command.encode(&mut flight)?;
        Ok(String::from_utf8(flight).unwrap())
    }

    #[test]
    fn writes_each_command_as_one_line() {
        for (command, line) in [
            (Command::Ehlo("probe.example.com"), "EHLO probe.example.com\r\n"),
            (Command::Helo("probe.example.com"), "HELO probe.example.com\r\n"),
            (Command::StartTls, "STARTTLS\r\n"),
            (Command::Mail { reverse_path: "", smtputf8: false }, "MAIL FROM:<>\r\n"),
            (Command::Mail { reverse_path: "", smtputf8: true }, "MAIL FROM:<> SMTPUTF8\r\n"),
            (Command::Mail { reverse_path: "a@b.c", smtputf8: false }, "MAIL FROM:<a@b.c>\r\n"),
            (Command::Rcpt("ä@example.org"), "RCPT TO:<ä@example.org>\r\n"),
            (Command::Rset, "RSET\r\n"),
            (Command::Quit, "QUIT\r\n"),
        ] {
            assert_eq!(encoded(command), Ok(line.to_owned()));
        }
    }

    #[test]
    fn refuses_anything_that_could_start_a_second_line() {
        for hostile in ["a\r\nDATA", "a\rb", "a\nb", "a\0b", "\r", "\n", "\0"] {
            for command in [
                Command::Ehlo(hostile),
                Command::Helo(hostile),
                Command::Mail { reverse_path: hostile, smtputf8: false },
                Command::Rcpt(hostile),
            ] {
                let mut flight = b"QUIT\r\n".to_vec();
                assert_eq!(command.encode(&mut flight), Err(Unencodable), "{hostile:?}");
                assert_eq!(flight, b"QUIT\r\n", "a refused command leaves nothing behind");
            }
        }
    }

    #[test]
    fn takes_512_octets_and_no_more() {
        // `RCPT TO:<`, `>` and CRLF are 12 bytes.
        assert_eq!(encoded(Command::Rcpt(&"a".repeat(500))).unwrap().len(), 512);
        assert_eq!(encoded(Command::Rcpt(&"a".repeat(501))), Err(Unencodable));
    }
}
