//! A conversation with a mail server: greeting, encryption, envelopes, closing (RFC 5321 §3).

mod farewell;
mod patience;

use std::{
    future::poll_fn,
    mem::MaybeUninit,
    pin::Pin,
    task::{Poll, ready},
};

use rcpt_shared::{Address, Stage};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    time::timeout_at,
};
use tokio_rustls::rustls::pki_types::ServerName;

use super::{Capabilities, Command, Reply, ReplyParser, Tls, Wire};
pub use patience::Patience;

/// A conversation with a mail server, after its greeting.
///
/// Methods with a `stage` record their progress in it, so that a caller that times out knows where the conversation
/// stopped.
pub struct Session<S> {
    wire: Wire<S>,
    parser: ReplyParser,
    capabilities: Capabilities,
    greeting: Greeting,
    /// Number of replies that haven't arrived for commands already sent.
    outstanding: usize,
    /// Number of recipients asked about so far, and of those refused.
    recipients_asked: usize,
    recipients_refused: usize,
    /// True after QUIT was sent with the last recipient, or a reply such as 421 made the session
    /// unusable: no further commands are sent.
    quitting: bool,
    /// Time limit per reply; `None` if the caller limits the time.
    patience: Option<Patience>,
    /// Maximum number of recipients that the server accepts per session, if known.
    recipients_max: usize,
    /// True if an accepted recipient had the code of an accepted sender, 2.1.0, although replies
    /// can't have been shifted.
    mixes_codes: bool,
}

/// Failure for a surplus reply: it is unknown which reply was the recipient's.
const SURPLUS: Failure = Failure::Broken(Stage::Rcpt, Broken::Garbage);

/// Bytes read per call. An EHLO reply has about 250 bytes.
const READ_BYTES: usize = 512;

/// Maximum number of refused recipients per session. Postfix delays each reply by a second after
/// ten errors (`smtpd_soft_error_limit`), other servers after fewer, and more errors look like a
/// directory harvest.
const MAX_REFUSED: usize = 3;

/// Start of a session (RFC 5321 §3.2): a server that doesn't know EHLO gets HELO and has no
/// capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Greeting {
    #[default]
    Ehlo,
    Helo,
}

impl Greeting {
    const fn other(self) -> Self {
        match self {
            Self::Ehlo => Self::Helo,
            Self::Helo => Self::Ehlo,
        }
    }
}

/// A sender and one recipient.
#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    /// The sender without brackets; empty for the null reverse-path.
    pub reverse_path: &'a str,
    pub recipient: &'a Address,
    /// True if this is the session's last recipient.
    pub last: bool,
}

/// The reply to one envelope.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// MAIL was refused.
    Mail(Reply),
    /// The server's reply about the recipient.
    Rcpt(Reply),
    /// The recipient needs SMTPUTF8 (RFC 6531 §3.2), which the server doesn't offer: nothing was
    /// sent.
    Smtputf8Unsupported,
}

/// The conversation ended before a reply to the recipient.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server refused at this stage, with this reply.
    Refused(Stage, Reply),
    Broken(Stage, Broken),
    /// An idle session that the server has closed before the envelope of a further recipient
    /// arrived.
    Stale,
    /// No reply began within the [`Patience`] at this stage.
    Silent(Stage),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// End of the stream, a reset or any other failure of the connection.
    Closed,
    /// Input that isn't a reply, or not a reply to our command.
    Garbage,
    /// The TLS handshake failed.
    Tls,
    /// Our own command couldn't be encoded.
    Unencodable,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    /// Waits for the banner and sends `greeting`, or the other greeting if the server refuses it. Up to RCPT, each
    /// reply must begin within `patience`.
    ///
    /// # Errors
    /// [`Failure`] at banner or EHLO.
    pub async fn open(
        stream: S,
        helo_name: &str,
        greeting: Greeting,
        patience: Option<Patience>,
        stage: &mut Stage,
    ) -> Result<Self, Failure> {
        *stage = Stage::Banner;
        let mut session = Self {
            wire: Wire::Plain(stream),
            parser: ReplyParser::default(),
            capabilities: Capabilities::default(),
            greeting,
            outstanding: 0,
            recipients_asked: 0,
            recipients_refused: 0,
            quitting: false,
            patience,
            recipients_max: usize::MAX,
            mixes_codes: false,
        };
        let banner = session.reply(Stage::Banner).await?;
        expect(220, Stage::Banner, banner)?;
        session.introduce(helo_name, stage).await?;
        Ok(session)
    }

    async fn introduce(&mut self, helo_name: &str, stage: &mut Stage) -> Result<(), Failure> {
        *stage = Stage::Ehlo;
        let mut reply = self.greet(helo_name).await?;
        if reply.is_permanent() {
            self.greeting = self.greeting.other();
            // If the second greeting gets no reply, the server's earlier refusal is reported.
            let refusal = |_| Failure::Refused(Stage::Ehlo, reply);
            reply = self.greet(helo_name).await.map_err(refusal)?;
        }
        let reply = expect(250, Stage::Ehlo, reply)?;
        self.capabilities = match self.greeting {
            Greeting::Ehlo => Capabilities::parse(&reply),
            Greeting::Helo => Capabilities::default(),
        };
        Ok(())
    }

    async fn greet(&mut self, helo_name: &str) -> Result<Reply, Failure> {
        let command = match self.greeting {
            Greeting::Ehlo => Command::Ehlo(helo_name),
            Greeting::Helo => Command::Helo(helo_name),
        };
        self.send(Stage::Ehlo, [&command]).await?;
        self.reply(Stage::Ehlo).await
    }

    /// Returns the accepted greeting.
    pub const fn greeting(&self) -> Greeting {
        self.greeting
    }

    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    pub const fn is_encrypted(&self) -> bool {
        matches!(self.wire, Wire::Encrypted(_))
    }

    /// Returns whether every command has had its reply, all input is read, and the session isn't quitting.
    pub fn is_settled(&self) -> bool {
        !self.quitting && self.outstanding == 0 && self.parser.is_empty()
    }

    /// Returns the stream, unless it is encrypted.
    pub const fn plain(&self) -> Option<&S> {
        match &self.wire {
            Wire::Plain(stream) => Some(stream),
            Wire::Encrypted(_) => None,
        }
    }

    /// Encrypts the session and repeats EHLO (RFC 3207 §4.2).
    ///
    /// # Errors
    /// [`Failure`]: a refusal, or [`Broken::Tls`], after which the connection is unusable.
    pub async fn start_tls(
        mut self,
        tls: &Tls,
        name: ServerName<'static>,
        helo_name: &str,
        stage: &mut Stage,
    ) -> Result<Self, Failure> {
        *stage = Stage::StartTls;
        // The refusal that demanded TLS may be followed by other replies of its flight.
        while self.outstanding > 0 {
            self.reply(Stage::StartTls).await?;
        }
        self.send(Stage::StartTls, [&Command::StartTls]).await?;
        let ready = self.reply(Stage::StartTls).await?;
        expect(220, Stage::StartTls, ready)?;
        self.parser.discard();
        let Wire::Plain(stream) = self.wire else {
            return Err(Failure::Broken(Stage::StartTls, Broken::Tls));
        };
        let handshake = tls.handshake(name, stream);
        let encrypted = match self.patience {
            None => handshake.await,
            Some(patience) => timeout_at(patience.until(Stage::StartTls), handshake)
                .await
                .map_err(|_| Failure::Silent(Stage::StartTls))?,
        };
        let encrypted = encrypted.map_err(|_| Failure::Broken(Stage::StartTls, Broken::Tls))?;
        let mut session =
            Self { wire: Wire::Encrypted(Box::new(encrypted)), recipients_asked: 0, ..self };
        session.introduce(helo_name, stage).await?;
        Ok(session)
    }

    /// Asks whether the server accepts mail for the recipient: sends MAIL and RCPT, in a reused session after RSET.
    /// With PIPELINING, one flight contains all commands (RFC 2920 §3.1).
    ///
    /// # Errors
    /// [`Failure::Refused`], [`Failure::Silent`] or [`Failure::Broken`] at MAIL or RCPT;
    /// [`Failure::Stale`] if the server has closed the idle session.
    pub async fn ask(
        &mut self,
        envelope: Envelope<'_>,
        stage: &mut Stage,
    ) -> Result<Answer, Failure> {
        *stage = Stage::Mail;
        let smtputf8 = envelope.recipient.needs_smtputf8();
        if smtputf8 && !self.capabilities.smtputf8 {
            return Ok(Answer::Smtputf8Unsupported);
        }
        let served_before = self.recipients_asked > 0;
        self.recipients_asked += 1;
        if served_before {
            self.parser.next_recipient();
        }
        let mail = Command::Mail { reverse_path: envelope.reverse_path, smtputf8 };
        if self.capabilities.pipelining {
            self.ask_in_one_flight(mail, envelope, served_before, stage).await
        } else {
            self.ask_step_by_step(mail, envelope, served_before, stage).await
        }
    }

    async fn ask_in_one_flight(
        &mut self,
        mail: Command<'_>,
        envelope: Envelope<'_>,
        served_before: bool,
        stage: &mut Stage,
    ) -> Result<Answer, Failure> {
        let rcpt = Command::Rcpt(envelope.recipient.normal());
        // QUIT may end a flight (RFC 2920 §3.1), but not if the server may still demand encryption.
        let settled = self.is_encrypted() || !self.capabilities.starttls;
        self.quitting = envelope.last && settled;
        let quit = self.quitting.then_some(Command::Quit);
        let reset = served_before.then_some(Command::Rset);
        let flight = [reset, Some(mail), Some(rcpt), quit];
        let outcome = self.send(Stage::Mail, flight.iter().flatten()).await;
        if served_before {
            outcome.map_err(|_| Failure::Stale)?;
            self.expect_reset().await?;
        } else {
            outcome?;
        }
        let sender = self.reply(Stage::Mail).await?;
        if !sender.is_positive() {
            return Ok(Answer::Mail(sender));
        }
        self.read_recipient_reply(served_before, stage).await
    }

    async fn ask_step_by_step(
        &mut self,
        mail: Command<'_>,
        envelope: Envelope<'_>,
        served_before: bool,
        stage: &mut Stage,
    ) -> Result<Answer, Failure> {
        if served_before {
            self.send(Stage::Mail, [&Command::Rset]).await.map_err(|_| Failure::Stale)?;
            self.expect_reset().await?;
        }
        self.send(Stage::Mail, [&mail]).await?;
        let sender = self.reply(Stage::Mail).await?;
        if !sender.is_positive() {
            return Ok(Answer::Mail(sender));
        }
        *stage = Stage::Rcpt;
        self.send(Stage::Rcpt, [&Command::Rcpt(envelope.recipient.normal())]).await?;
        self.read_recipient_reply(served_before, stage).await
    }

    /// Reads the reply to RSET: anything but 250 means that the server has closed the session.
    async fn expect_reset(&mut self) -> Result<(), Failure> {
        match self.reply(Stage::Mail).await {
            Ok(reset) if reset.code == 250 => Ok(()),
            Ok(_) | Err(_) => Err(Failure::Stale),
        }
    }

    async fn read_recipient_reply(
        &mut self,
        served_before: bool,
        stage: &mut Stage,
    ) -> Result<Answer, Failure> {
        *stage = Stage::Rcpt;
        let rcpt_reply = self.reply(Stage::Rcpt).await?;
        self.expect_no_surplus()?;
        // Servers use x.1.0 for an accepted sender (RFC 2034 §4). A duplicate reply to RSET, with
        // RCPT's reply still missing, looks the same.
        let of_sender = rcpt_reply.is_positive()
            && rcpt_reply.enhanced.is_some_and(|code| (code.subject, code.detail) == (1, 0));
        if of_sender && served_before && !self.mixes_codes {
            self.quitting = true;
            return Err(Failure::Stale);
        }
        self.mixes_codes |= of_sender;
        self.quitting |= rcpt_reply.code == 421;
        self.recipients_refused += usize::from(!rcpt_reply.is_positive());
        Ok(Answer::Rcpt(rcpt_reply))
    }

    /// Fails if there is a surplus reply, because then it is unknown which reply was the recipient's. Only the reply to
    /// QUIT or a 421 may follow.
    fn expect_no_surplus(&mut self) -> Result<(), Failure> {
        if self.parser.is_empty() {
            return Ok(());
        }
        let was_sent_quit = self.outstanding > 0;
        self.quitting = true;
        let is_farewell = match self.parser.next_reply() {
            Ok(Some(reply)) if reply.code == 221 && was_sent_quit => {
                self.outstanding -= 1;
                true
            }
            Ok(Some(reply)) => reply.code == 421,
            // An incomplete line may be the beginning of the reply to QUIT.
            Ok(None) => return if was_sent_quit { Ok(()) } else { Err(SURPLUS) },
            Err(_) => false,
        };
        if is_farewell && self.parser.is_empty() { Ok(()) } else { Err(SURPLUS) }
    }

    /// Returns whether the session can serve a further recipient, with `limit` in total: it has served one, every
    /// command has had its reply, and fewer than `MAX_REFUSED` recipients were refused.
    pub fn is_reusable(&self, limit: usize) -> bool {
        let limit = limit.min(self.recipients_max);
        self.is_settled()
            && self.recipients_asked > 0
            && self.recipients_asked < limit
            && self.recipients_refused < MAX_REFUSED
    }

    /// Returns the number of recipients asked about so far.
    pub const fn recipients_asked(&self) -> usize {
        self.recipients_asked
    }

    /// Limits the recipients per session to the server's maximum.
    pub const fn limit_recipients(&mut self, recipients_max: usize) {
        self.recipients_max = recipients_max;
    }

    /// Sets the time limits for the next recipient's replies.
    pub const fn set_patience(&mut self, patience: Option<Patience>) {
        self.patience = patience;
    }

    /// Returns whether the server has been silent since its last reply. Any text received since
    /// then, most likely a closing message, would be read as the reply to the next command.
    pub async fn is_quiet(&mut self) -> bool {
        let mut octet = [0];
        poll_fn(|cx| {
            let read = Pin::new(&mut self.wire).poll_read(cx, &mut ReadBuf::new(&mut octet));
            Poll::Ready(read.is_pending())
        })
        .await
    }

    /// Sends the commands in one write.
    async fn send<'c>(
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

    /// Handles text that the server sends without a command: it would be read as the reply to the next command. Only
    /// 421 may come at any time (RFC 5321 §3.8).
    fn reject_unsolicited(&mut self, stage: Stage) -> Failure {
        match self.parser.next_reply() {
            Ok(Some(reply)) if reply.code == 421 => Failure::Refused(stage, reply),
            _ => Failure::Broken(stage, Broken::Garbage),
        }
    }

    /// Reads the next reply. The time limit applies to the reply's beginning only: a server that sends `220-` and
    /// completes it six seconds later (postscreen's greet pause) isn't silent.
    async fn reply(&mut self, stage: Stage) -> Result<Reply, Failure> {
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

    /// Receives more of the server's text. While the server is silent, no buffer is allocated.
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

/// Returns a reply with this code; a refusal or an unexpected code ends the conversation.
fn expect(code: u16, stage: Stage, reply: Reply) -> Result<Reply, Failure> {
    if reply.code == code {
        Ok(reply)
    } else if reply.is_transient() || reply.is_permanent() {
        Err(Failure::Refused(stage, reply))
    } else {
        Err(Failure::Broken(stage, Broken::Garbage))
    }
}

#[cfg(test)]
mod tests;
