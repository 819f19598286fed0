//! A question in a new session: greeting, encryption, envelope, and a second attempt if encryption caused the failure.

use std::{net::SocketAddr, ops::ControlFlow};

use rcpt_pool::Signal;
use rcpt_shared::Stage;
use rcpt_smtp::{Answer, Broken, Connection, Failure, Greeting, Patience, Session};
use tokio::time::Instant;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{
    client::{HostAnswer, HostPermit, HostSession},
    host_probe::HostProbe,
    memory::Offers,
};

use crate::config::StartTls;

impl HostProbe<'_> {
    /// Asks again in the clear if encryption failed, and again encrypted if the host closed the connection for lack of
    /// encryption.
    pub(super) async fn ask_in_new_session(
        &self,
        stream: Box<dyn Connection>,
        peer: SocketAddr,
        permit: &HostPermit,
        patience: Option<Patience>,
        stage: &mut Stage,
    ) -> Result<HostAnswer, Failure> {
        let client = self.client;
        let encrypt =
            client.starttls == StartTls::Always || client.memory.offers(self.host).demands_tls;
        // Boxed like the other steps: its state is freed when it ends.
        let asking = Box::pin(self.open_and_ask(stream, peer, permit, patience, encrypt, stage));
        let (encrypt, failure) = match again(asking.await, encrypt) {
            ControlFlow::Continue(again) => again,
            ControlFlow::Break(ended) => return ended,
        };
        *stage = Stage::Connect;
        let identity = client.identity(permit.identity());
        match Box::pin(client.dialer.connect(&identity, peer)).await {
            Ok(stream) => {
                Box::pin(self.open_and_ask(stream, peer, permit, patience, encrypt, stage)).await
            }
            Err(_) => Err(failure),
        }
    }

    async fn open(
        &self,
        stream: Box<dyn Connection>,
        helo_name: &str,
        patience: Option<Patience>,
        stage: &mut Stage,
    ) -> Result<HostSession, Failure> {
        let Offers { greeting, .. } = self.client.memory.offers(self.host);
        let opened = Session::open(stream, helo_name, greeting, patience, stage).await;
        // Any reply shows that port 25 is open, except a route's, which may use another port.
        let greeted =
            *stage > Stage::Banner || matches!(opened, Err(Failure::Refused(Stage::Banner, _)));
        if greeted && !self.by_route() {
            self.client.port_check.banner_seen();
        }
        let session = Box::new(opened?);
        if session.greeting() != greeting {
            self.client.remember(self.host, |offers| offers.greeting = session.greeting());
        }
        Ok(session)
    }

    async fn open_and_ask(
        &self,
        stream: Box<dyn Connection>,
        peer: SocketAddr,
        permit: &HostPermit,
        patience: Option<Patience>,
        encrypt: bool,
        stage: &mut Stage,
    ) -> Result<HostAnswer, Failure> {
        let client = self.client;
        let identity = client.identity(permit.identity());
        let helo_name = &*identity.helo_name;
        let mut session = self.open(stream, helo_name, patience, stage).await?;
        if encrypt && session.capabilities().starttls {
            session = self.encrypt(session, peer, helo_name, stage).await?;
        }
        let mut asked_at = Instant::now();
        let mut answer = session.ask(self.envelope(), stage).await?;
        let mut finding = self.client.judge_answer(&answer, &self.question.address);
        let demands_tls = finding.demands_tls;
        if demands_tls && session.capabilities().starttls && !session.is_encrypted() {
            client.remember(self.host, |offers| offers.demands_tls = true);
            if matches!(&answer, Answer::Rcpt(_)) {
                permit.note(Signal::Unread);
            }
            if matches!(&answer, Answer::Mail(reply) | Answer::Rcpt(reply) if reply.code == 421) {
                return Ok(HostAnswer { answer, finding, session, took: asked_at.elapsed() });
            }
            session = self.encrypt(session, peer, helo_name, stage).await?;
            asked_at = Instant::now();
            answer = session.ask(self.envelope(), stage).await?;
            finding = self.client.judge_answer(&answer, &self.question.address);
        } else if demands_tls && session.greeting() == Greeting::Helo {
            // A host that demands TLS knows EHLO, which may list its capabilities next time.
            client.remember(self.host, |offers| offers.greeting = Greeting::Ehlo);
        }
        Ok(HostAnswer { answer, finding, session, took: asked_at.elapsed() })
    }

    async fn encrypt(
        &self,
        session: HostSession,
        peer: SocketAddr,
        helo_name: &str,
        stage: &mut Stage,
    ) -> Result<HostSession, Failure> {
        // The end of the handshake and EHLO are two writes with no reply between: Nagle's algorithm
        // would hold the second back for a round trip. In the clear every write follows a reply.
        let undelayed = session.plain().map(|stream| stream.set_nodelay());
        undelayed.transpose().map_err(|_| Failure::Broken(Stage::StartTls, Broken::Closed))?;
        // The name is only for SNI and resumption; if the host has no valid name, its IP address is used.
        let name = ServerName::try_from(self.host.to_owned())
            .unwrap_or_else(|_| ServerName::IpAddress(peer.ip().into()));
        // Boxed: the handshake is rare, and its state would be part of every probe's.
        let encrypted = Box::pin(session.start_tls(&self.client.tls, name, helo_name, stage)).await;
        encrypted.map(Box::new)
    }
}

/// Whether to encrypt a second attempt, and the failure of the first.
fn again(
    ended: Result<HostAnswer, Failure>,
    encrypt: bool,
) -> ControlFlow<Result<HostAnswer, Failure>, (bool, Failure)> {
    ControlFlow::Continue(match ended {
        // RFC 7435 §3: retries on a new connection, in a known state. A server that demands encryption refuses this
        // second attempt.
        Err(
            failure @ (Failure::Broken(Stage::StartTls, _) | Failure::Refused(Stage::StartTls, _)),
        ) if encrypt => (false, failure),
        // The first connection is closed by now: the permit is for one connection.
        Ok(outcome) if closes_for_tls(&outcome) => (true, refusal(outcome.answer)),
        ended => return ControlFlow::Break(ended),
    })
}

fn closes_for_tls(outcome: &HostAnswer) -> bool {
    let (Answer::Mail(reply) | Answer::Rcpt(reply)) = &outcome.answer else { return false };
    let could = outcome.session.capabilities().starttls && !outcome.session.is_encrypted();
    could && reply.code == 421 && outcome.finding.demands_tls
}

/// The answer's session must have ended.
fn refusal(answer: Answer) -> Failure {
    match answer {
        Answer::Mail(reply) => Failure::Refused(Stage::Mail, reply),
        Answer::Rcpt(reply) => Failure::Refused(Stage::Rcpt, reply),
        Answer::Smtputf8Unsupported => Failure::Broken(Stage::Ehlo, Broken::Closed),
    }
}
