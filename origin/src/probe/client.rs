//! Speaks with mail hosts: identity, encryption, and the memory of their capabilities.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcpt_pool::{HashKey, Permit, operators::Operators};
use rcpt_shared::{Address, CatchAll, Stage};
use rcpt_smtp::{
    Answer, Broken, Connection, Dialer, Envelope, Failure, Greeting, HeloIdentity, Patience,
    Session, Tls,
};
use rcpt_verdict::Finding;
use tokio::time::Instant;
use tokio_rustls::rustls::pki_types::ServerName;

use super::{
    host_memory::{HostMemory, Offers, catch_all_key},
    identities::Identities,
};

use crate::{
    config::{Config, StartTls},
    dns::single_flight::SingleFlight,
    surroundings::Random,
    telemetry::{port_check::PortCheck, session_metrics::SessionMetrics},
};

/// A session with a mail host.
pub(super) type HostSession = Session<Box<dyn Connection>>;

pub(super) type HostPermit = Permit<HostSession>;

/// State shared by all sessions.
pub(super) struct Client {
    identities: ArcSwap<Identities>,
    reverse_path: String,
    starttls: StartTls,
    /// Recipients asked about in one session.
    session_recipients: usize,
    dialer: Dialer,
    tls: Tls,
    operators: ArcSwap<Operators>,
    port_check: Arc<PortCheck>,
    pub(super) memory: HostMemory,
    pub(super) sessions: SessionMetrics,
    /// Control recipients that are being asked about, by domain and host.
    pub(super) controls: SingleFlight<CatchAll>,
    pub(super) random: Random,
}

/// A host, the address it is reached at, and the identity it is asked under.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub host: &'a str,
    pub peer: SocketAddr,
    pub identity: &'a HeloIdentity,
    /// It is fixed by configuration, with a port of its own.
    pub by_route: bool,
    /// Time limit of its replies, while others are left to ask.
    pub patience: Option<Patience>,
}

/// A host's answer, its session, and the time it took.
pub(super) struct Told {
    pub answer: Answer,
    pub finding: Finding,
    pub session: HostSession,
    pub took: Duration,
}

/// Returns the meaning of an answer.
pub(super) fn judged(answer: &Answer) -> Finding {
    match answer {
        Answer::Mail(reply) => rcpt_verdict::judge(Stage::Mail, reply),
        Answer::Rcpt(reply) => rcpt_verdict::judge(Stage::Rcpt, reply),
        Answer::Smtputf8Unsupported => rcpt_verdict::smtputf8_unsupported(),
    }
}

impl Client {
    pub(super) fn new(
        config: &Config,
        dialer: Dialer,
        tls: Tls,
        port_check: Arc<PortCheck>,
        random: Random,
        keys: HashKey,
    ) -> Arc<Self> {
        Arc::new(Self {
            identities: ArcSwap::from_pointee(Identities::new(config)),
            reverse_path: config.mail_from.clone(),
            starttls: config.starttls,
            session_recipients: config.session_recipients,
            dialer,
            tls,
            operators: ArcSwap::new(config.operators.clone()),
            port_check,
            memory: HostMemory::new(keys),
            sessions: SessionMetrics::default(),
            controls: SingleFlight::default(),
            random,
        })
    }

    /// Asks by the operators and from the source addresses of this configuration from now on.
    pub(super) fn reload(&self, config: &Config) {
        self.operators.store(config.operators.clone());
        self.identities.store(Arc::new(self.identities.load().with(config)));
    }

    pub(super) const fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn identities(&self) -> Arc<Identities> {
        self.identities.load_full()
    }

    /// The pool hands out numbers of identities.
    pub(super) fn identity(&self, number: usize) -> Arc<HeloIdentity> {
        self.identities.load().get(number)
    }

    /// Returns whether the host's replies at RCPT may reveal if the mailbox exists.
    pub(super) fn is_informative(&self, host: &str) -> bool {
        let operators = self.operators.load();
        let row = operators.of_host(host).and_then(|id| operators.get(id));
        row.and_then(|row| row.informative) != Some(false)
    }

    /// Returns whether the host refused a recipient of the domain by name within the day.
    pub(super) fn refuses_by_name(&self, domain: &str, host: &str) -> bool {
        self.memory.refuses_by_name(&catch_all_key(domain, host))
    }

    pub(super) fn is_reusable(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients)
    }

    /// Returns whether the session can serve the control recipient.
    pub(super) fn takes_control(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients + 1)
    }

    /// `is_last`: whether no control recipient follows.
    pub(super) fn envelope<'a>(
        &'a self,
        recipient: &'a Address,
        is_last: impl FnOnce() -> bool,
    ) -> Envelope<'a> {
        let last = self.session_recipients == 1 && is_last();
        Envelope { reverse_path: &self.reverse_path, recipient, last }
    }

    /// Opens a session over `stream` and asks in it; once more in the clear if encryption failed that
    /// the host never demanded, and once more encrypted if it hung up for want of it.
    pub(super) async fn ask_in_new_session(
        &self,
        call: Call<'_>,
        stream: Box<dyn Connection>,
        envelope: Envelope<'_>,
        stage: &mut Stage,
    ) -> Result<Told, Failure> {
        let offers = self.memory.offers(call.host);
        let encrypt = self.starttls == StartTls::Always || offers.demands_tls;
        // Boxed, as are the steps elsewhere: its state is needed only as long as it lasts.
        let asking = Box::pin(self.open_and_ask(call, stream, envelope, encrypt, stage));
        let ended = asking.await;
        let (encrypt, failure) = match ended {
            // RFC 7435 §3: on a new connection, whose state is known. A server that does demand encryption will refuse
            // this second attempt.
            Err(
                failure @ (Failure::Broken(Stage::StartTls, _)
                | Failure::Refused(Stage::StartTls, _)),
            ) if encrypt => (false, failure),
            // Closed before the second connection is opened: the permit is for one.
            Ok(told) if closes_for_tls(&told) => (true, refusal(told.answer)),
            ended => return ended,
        };
        *stage = Stage::Connect;
        match Box::pin(self.dialer.connect(call.identity, call.peer)).await {
            Ok(stream) => Box::pin(self.open_and_ask(call, stream, envelope, encrypt, stage)).await,
            Err(_) => Err(failure),
        }
    }

    /// Opens a session over `stream`, and remembers how the host wants to be greeted.
    async fn open(
        &self,
        call: Call<'_>,
        stream: Box<dyn Connection>,
        stage: &mut Stage,
    ) -> Result<HostSession, Failure> {
        let Offers { greeting, recipients_max, .. } = self.memory.offers(call.host);
        let helo_name = &call.identity.helo_name;
        let opened = Session::open(stream, helo_name, greeting, call.patience, stage).await;
        // Any answer at all counts, but not that of a route, which may lead elsewhere than out of port 25.
        let greeted =
            *stage > Stage::Banner || matches!(opened, Err(Failure::Refused(Stage::Banner, _)));
        if greeted && !call.by_route {
            self.port_check.banner_seen();
        }
        let mut session = opened?;
        if let Some(recipients_max) = recipients_max {
            session.limit_recipients(recipients_max);
        }
        if session.greeting() != greeting {
            self.remember(call.host, |offers| offers.greeting = session.greeting());
        }
        Ok(session)
    }

    async fn open_and_ask(
        &self,
        call: Call<'_>,
        stream: Box<dyn Connection>,
        envelope: Envelope<'_>,
        encrypt: bool,
        stage: &mut Stage,
    ) -> Result<Told, Failure> {
        let mut session = self.open(call, stream, stage).await?;
        if encrypt && session.capabilities().starttls {
            session = self.encrypt(session, call, stage).await?;
        }
        let mut asked_at = Instant::now();
        let mut answer = session.ask(envelope, stage).await?;
        let mut finding = judged(&answer);
        let demands_tls = finding.demands_tls;
        if demands_tls && session.capabilities().starttls && !session.is_encrypted() {
            self.remember(call.host, |offers| offers.demands_tls = true);
            if matches!(&answer, Answer::Mail(reply) | Answer::Rcpt(reply) if reply.code == 421) {
                return Ok(Told { answer, finding, session, took: asked_at.elapsed() });
            }
            session = self.encrypt(session, call, stage).await?;
            asked_at = Instant::now();
            answer = session.ask(envelope, stage).await?;
            finding = judged(&answer);
        } else if demands_tls && session.greeting() == Greeting::Helo {
            // It isn't as old as it seemed: next time it may show its capabilities.
            self.remember(call.host, |offers| offers.greeting = Greeting::Ehlo);
        }
        Ok(Told { answer, finding, session, took: asked_at.elapsed() })
    }

    async fn encrypt(
        &self,
        session: HostSession,
        call: Call<'_>,
        stage: &mut Stage,
    ) -> Result<HostSession, Failure> {
        // The end of the handshake and EHLO are two writes with no reply between: Nagle's algorithm
        // would hold the second back for a round trip. In the clear every write follows a reply.
        let undelayed = session.plain().map(|stream| stream.set_nodelay());
        undelayed.transpose().map_err(|_| Failure::Broken(Stage::StartTls, Broken::Closed))?;
        // The name is only for SNI and resumption; if the host has no valid name, its IP address is used.
        let name = ServerName::try_from(call.host.to_owned())
            .unwrap_or_else(|_| ServerName::IpAddress(call.peer.ip().into()));
        // Boxed: the handshake is rare, and its state would be part of every probe's.
        Box::pin(session.start_tls(&self.tls, name, &call.identity.helo_name, stage)).await
    }

    pub(super) fn remember(&self, host: &str, change: impl FnOnce(&mut Offers)) {
        let mut offers = self.memory.offers(host);
        change(&mut offers);
        self.memory.showed(host, offers);
    }
}

/// QUIT for a session that is not needed any more, and its end before another is opened in its place.
/// It does not wait: six octets fit the socket's buffer.
pub(super) fn quit_now(session: HostSession) {
    session.quit(());
}

/// It closes the connection because the session is in the clear.
fn closes_for_tls(told: &Told) -> bool {
    let (Answer::Mail(reply) | Answer::Rcpt(reply)) = &told.answer else { return false };
    let could = told.session.capabilities().starttls && !told.session.is_encrypted();
    could && reply.code == 421 && told.finding.demands_tls
}

/// The refusal that an answer is, once its session has ended.
fn refusal(answer: Answer) -> Failure {
    match answer {
        Answer::Mail(reply) => Failure::Refused(Stage::Mail, reply),
        Answer::Rcpt(reply) => Failure::Refused(Stage::Rcpt, reply),
        Answer::Smtputf8Unsupported => Failure::Broken(Stage::Ehlo, Broken::Closed),
    }
}
