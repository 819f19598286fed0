//! A conversation with a mail server: greeting, encryption, envelopes, closing (RFC 5321 §3).

mod exchange;

use std::time::Duration;

use rcpt_shared::{Address, Stage};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{timeout, timeout_at},
};
use tokio_rustls::rustls::pki_types::ServerName;

use super::{Capabilities, Reply, ReplyParser, Tls, Wire};
pub use exchange::{Command, Patience, Unencodable};

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
    /// False after replies that don't match the commands: no further recipient is asked about.
    in_step: bool,
    patience: Option<Patience>,
}

/// Failure for a surplus reply: it is unknown which reply was the recipient's.
const SURPLUS: Failure = Failure::Broken(Stage::Rcpt, Broken::Garbage);

/// Longest wait for the reply to RSET where the answer doesn't depend on it: several round trips, and short enough for
/// a server that never sends it.
const RESET_TIMEOUT: Duration = Duration::from_secs(1);

/// Time for which nothing may follow RSET's reply after a refusal in a session that has served others. A second, late
/// reply to an earlier recipient looks like a refusal; the recipient's own reply then comes in the place of RSET's, and
/// RSET's directly after it.
const QUIET_TIME: Duration = Duration::from_millis(20);

/// Postfix delays each reply by a second after ten errors (`smtpd_soft_error_limit`), other servers after fewer, and
/// more errors look like a directory harvest.
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

#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    /// The sender without brackets; empty for the null reverse-path.
    pub reverse_path: &'a str,
    pub recipient: &'a Address,
    pub last: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    Mail(Reply),
    Rcpt(Reply),
    /// The recipient needs SMTPUTF8 (RFC 6531 §3.2), which the server doesn't offer: nothing was
    /// sent.
    Smtputf8Unsupported,
}

/// The conversation ended before a reply to the recipient.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    Refused(Stage, Reply),
    Broken(Stage, Broken),
    /// No reply began within the [`Patience`] at this stage.
    Silent(Stage),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    Closed,
    Garbage,
    Tls,
    Unencodable,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    /// Waits for the banner and sends `greeting`, or the other greeting if the server refuses it. Up to RCPT, each
    /// reply must begin within `patience`.
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
            in_step: true,
            patience,
        };
        let banner = session.reply(Stage::Banner).await?;
        expect_welcome(Stage::Banner, banner)?;
        // Boxed: a server that is silent before its banner costs no memory for what comes after it.
        Box::pin(session.introduce(helo_name, stage)).await?;
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
        let reply = expect_welcome(Stage::Ehlo, reply)?;
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

    pub const fn greeting(&self) -> Greeting {
        self.greeting
    }

    pub const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    pub const fn is_encrypted(&self) -> bool {
        matches!(self.wire, Wire::Encrypted(_))
    }

    pub fn is_settled(&self) -> bool {
        self.in_step && !self.quitting && self.outstanding == 0 && self.parser.is_empty()
    }

    /// The stream, unless it is encrypted.
    pub const fn plain(&self) -> Option<&S> {
        match &self.wire {
            Wire::Plain(stream) => Some(stream),
            Wire::Encrypted(_) => None,
        }
    }

    /// Encrypts the session and repeats EHLO (RFC 3207 §4.2).
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
        if ready.code != 220 {
            return Err(unwelcome(Stage::StartTls, ready));
        }
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

    /// Asks whether the server accepts mail for the recipient: sends MAIL, RCPT and RSET. With PIPELINING, one flight
    /// contains all three (RFC 2920 §3.1), so that the next recipient waits for nothing.
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
        let rcpt = Command::Rcpt(envelope.recipient.normal());
        // The server may still demand encryption, and we then ask again.
        let is_last = envelope.last && (self.is_encrypted() || !self.capabilities.starttls);
        if self.capabilities.pipelining {
            self.quitting = is_last;
            let end = if is_last { Command::Quit } else { Command::Rset };
            self.send(Stage::Mail, [&mail, &rcpt, &end]).await?;
        } else {
            self.send(Stage::Mail, [&mail]).await?;
        }
        let sender = self.reply(Stage::Mail).await?;
        if !sender.is_positive() {
            return Ok(Answer::Mail(sender));
        }
        *stage = Stage::Rcpt;
        if !self.capabilities.pipelining {
            self.send(Stage::Rcpt, [&rcpt]).await?;
        }
        let reply = self.reply(Stage::Rcpt).await?;
        self.recipients_refused += usize::from(!reply.is_positive());
        if reply.code == 421 {
            self.quitting = true;
            return Ok(Answer::Rcpt(reply));
        }
        if !(self.capabilities.pipelining || is_last) && self.parser.is_empty() {
            // If this fails, the server has closed the connection, which the next read shows.
            let _ = self.send(Stage::Rcpt, [&Command::Rset]).await;
        }
        self.expect_in_step(&reply, served_before).await?;
        Ok(Answer::Rcpt(reply))
    }

    /// Reads what follows the recipient's reply, which should be exactly one 250, for RSET. After a missing or surplus
    /// reply, the reply that was read before may belong to another command.
    ///
    /// Positive replies alone prove an acceptance, whichever of them is the recipient's, if none is missing: an
    /// acceptance waits for RSET's reply as long as the caller does. Otherwise it counts only if the server has closed
    /// a session that has served nobody else.
    async fn expect_in_step(&mut self, reply: &Reply, served_before: bool) -> Result<(), Failure> {
        let is_reset = self.outstanding > 0 && !self.quitting;
        if !is_reset && self.parser.is_empty() {
            return Ok(());
        }
        let came_together = !self.parser.is_empty();
        let next = if reply.is_positive() && !served_before {
            Ok(self.reply(Stage::Rcpt).await)
        } else {
            timeout(RESET_TIMEOUT, self.reply(Stage::Rcpt)).await
        };
        let is_clear = reply.is_positive() || !served_before;
        if is_reset
            && self.parser.is_empty()
            && matches!(&next, Ok(Ok(reset)) if reset.code == 250)
            && (is_clear || came_together || self.is_quiet_for(QUIET_TIME).await)
        {
            return Ok(());
        }
        self.in_step = false;
        let counts = match next {
            Ok(Ok(next)) if matches!(next.code, 221 | 421) => {
                self.quitting = true;
                self.parser.is_empty() && !(reply.is_positive() && served_before)
            }
            Ok(Ok(next)) if is_reset && next.is_positive() => {
                is_clear && self.has_no_refusal_left()
            }
            // Before TLS, a server may refuse every command (RFC 3207 §4).
            Ok(Ok(_)) => is_reset && !(reply.is_positive() || served_before),
            Ok(Err(Failure::Broken(_, Broken::Garbage))) => false,
            Ok(Err(_)) | Err(_) => {
                self.quitting = true;
                !(reply.is_positive() && served_before)
            }
        };
        if counts {
            return Ok(());
        }
        self.quitting = true;
        Err(SURPLUS)
    }

    fn has_no_refusal_left(&mut self) -> bool {
        loop {
            match self.parser.next_reply() {
                Ok(Some(reply)) if reply.is_positive() || reply.code == 421 => {}
                Ok(Some(_)) | Err(_) => return false,
                Ok(None) => return true,
            }
        }
    }

    /// True if the session can serve a further recipient, with `limit` in total: it has served one, every command has
    /// had its reply, and fewer than `MAX_REFUSED` recipients were refused.
    pub fn is_reusable(&self, limit: usize) -> bool {
        self.is_settled()
            && self.recipients_asked > 0
            && self.recipients_asked < limit
            && self.recipients_refused < MAX_REFUSED
    }

    pub const fn set_patience(&mut self, patience: Option<Patience>) {
        self.patience = patience;
    }
}

/// Some servers greet with 250, or reply 220 to EHLO. A 221 is a farewell.
fn expect_welcome(stage: Stage, reply: Reply) -> Result<Reply, Failure> {
    if reply.is_positive() && reply.code != 221 { Ok(reply) } else { Err(unwelcome(stage, reply)) }
}

fn unwelcome(stage: Stage, reply: Reply) -> Failure {
    if reply.is_transient() || reply.is_permanent() {
        Failure::Refused(stage, reply)
    } else {
        Failure::Broken(stage, Broken::Garbage)
    }
}

#[cfg(test)]
mod tests;
