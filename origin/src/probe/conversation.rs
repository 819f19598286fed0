use std::{net::SocketAddr, ops::ControlFlow};

use rcpt_shared::{Address, Reason, Stage, Status};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::Attempt;
use crate::{
    dial::Dialer,
    smtp::{Answer, Envelope, Failure, Reply, Session, Tls},
    verdict::{self, Finding},
};

/// One host asked about one recipient.
pub(super) struct Conversation<'a> {
    pub dialer: &'a Dialer,
    pub tls: &'a Tls,
    pub helo_name: &'a str,
    pub reverse_path: &'a str,
    pub always_encrypt: bool,
    pub host: &'a str,
    pub recipient: &'a Address,
}

impl Conversation<'_> {
    /// Holds the dialogue over `stream`, which leads to `peer`.
    pub(super) async fn hold(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        stage: &mut Stage,
    ) -> Attempt {
        let mut ended = self.ask(stream, peer, self.always_encrypt, stage).await;
        let tls_failed = matches!(
            ended,
            Err(Failure::Broken(Stage::StartTls, _) | Failure::Refused(Stage::StartTls, _))
        );
        if tls_failed && self.always_encrypt {
            // Nobody demanded it (RFC 7435 §3): once more in the clear, on a connection whose state is
            // known. A server that does demand it will say so, and fail this second attempt.
            *stage = Stage::Connect;
            if let Ok(stream) = self.dialer.connect(peer).await {
                ended = self.ask(stream, peer, false, stage).await;
            }
        }
        match ended {
            Ok(answer) => judge_answer(&answer),
            Err(Failure::Refused(stage, reply)) => judge_reply(stage, &reply),
            Err(Failure::Broken(stage, broken)) => {
                let finding = verdict::judge_broken(broken);
                next_host_unless_final(finding, stage, None)
            }
        }
    }

    async fn ask(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        encrypt: bool,
        stage: &mut Stage,
    ) -> Result<Answer, Failure> {
        let envelope = Envelope { reverse_path: self.reverse_path, recipient: self.recipient };
        let mut session = Session::open(stream, self.helo_name, stage).await?;
        if encrypt && session.capabilities().starttls {
            session = self.encrypt(session, peer, stage).await?;
        }
        let mut answer = session.ask(envelope, stage).await?;
        if demands_tls(&answer) && session.capabilities().starttls && !session.is_encrypted() {
            session = self.encrypt(session, peer, stage).await?;
            answer = session.ask(envelope, stage).await?;
        }
        session.quit().await;
        Ok(answer)
    }

    async fn encrypt(
        &self,
        session: Session<TcpStream>,
        peer: SocketAddr,
        stage: &mut Stage,
    ) -> Result<Session<TcpStream>, Failure> {
        // The name is for SNI alone; a host whose name is none gets its address instead.
        let name = ServerName::try_from(self.host.to_owned())
            .unwrap_or_else(|_| ServerName::IpAddress(peer.ip().into()));
        session.start_tls(self.tls, name, self.helo_name, stage).await
    }
}

/// `530 Must issue a STARTTLS command first` (RFC 3207 §4), or x.7.10 "encryption needed" (RFC 5248).
/// The same 530 that wants a password is not helped by encryption.
fn demands_tls(answer: &Answer) -> bool {
    let (Answer::Mail(reply) | Answer::Rcpt(reply)) = answer else { return false };
    let needed = reply.enhanced.is_some_and(|code| (code.subject, code.detail) == (7, 10));
    let wants_password = || reply.text().to_ascii_lowercase().contains("authentication");
    !reply.is_positive() && (needed || (reply.code == 530 && !wants_password()))
}

fn judge_answer(answer: &Answer) -> Attempt {
    match answer {
        Answer::Mail(reply) => judge_reply(Stage::Mail, reply),
        Answer::Rcpt(reply) => judge_reply(Stage::Rcpt, reply),
        Answer::Smtputf8Unsupported => {
            ControlFlow::Break(verdict::smtputf8_unsupported().at(Stage::Ehlo, None))
        }
    }
}

/// Before RCPT, a server that is out of order sends us to the next. What is said at RCPT stands: a
/// backup host that takes everything knows less than the one that was asked first.
fn judge_reply(stage: Stage, reply: &Reply) -> Attempt {
    let finding = verdict::judge(stage, reply);
    let final_here = stage == Stage::Rcpt || finding.reason == Reason::Smtputf8Unsupported;
    if final_here {
        ControlFlow::Break(finding.at(stage, Some(reply)))
    } else {
        next_host_unless_final(finding, stage, Some(reply))
    }
}

fn next_host_unless_final(finding: Finding, stage: Stage, reply: Option<&Reply>) -> Attempt {
    let verdict = finding.at(stage, reply);
    if finding.status == Status::SmtpConnectError {
        ControlFlow::Continue(verdict)
    } else {
        ControlFlow::Break(verdict)
    }
}
