//! How we speak with a mail host: under which name, in the clear or encrypted, remembering what the host
//! showed of itself.

use std::net::SocketAddr;

use rcpt_shared::{Address, Stage};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;

use super::host_memory::{HostMemory, Offers};
use crate::{
    config::{Config, StartTls},
    smtp::{
        Answer, Broken, Dialer, Envelope, Failure, Greeting, HeloIdentity, Reply, Session, Tls,
    },
};

/// A session with a mail host.
pub(super) type HostSession = Session<TcpStream>;

/// What all sessions share.
pub(super) struct Client {
    identities: Vec<HeloIdentity>,
    /// Our name at an address that the system chooses.
    unbound: HeloIdentity,
    reverse_path: String,
    starttls: StartTls,
    /// Recipients asked about in one session.
    session_recipients: usize,
    dialer: Dialer,
    tls: Tls,
    pub(super) memory: HostMemory,
}

/// A host, the address it is reached at, and the identity it is asked under.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub host: &'a str,
    pub peer: SocketAddr,
    pub identity: &'a HeloIdentity,
}

impl Client {
    pub(super) fn new(config: &Config, dialer: Dialer, tls: Tls) -> Self {
        Self {
            identities: HeloIdentity::all(&config.helo_name, &config.source_addresses),
            unbound: HeloIdentity::unbound(&config.helo_name),
            reverse_path: config.mail_from.clone(),
            starttls: config.starttls,
            session_recipients: config.session_recipients,
            dialer,
            tls,
            memory: HostMemory::default(),
        }
    }

    pub(super) const fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn identities(&self) -> &[HeloIdentity] {
        &self.identities
    }

    /// The pool hands out numbers of identities; without any, there is the configured name.
    pub(super) fn identity(&self, number: usize) -> &HeloIdentity {
        self.identities.get(number).unwrap_or(&self.unbound)
    }

    pub(super) fn helo_name(&self) -> &str {
        &self.unbound.helo_name
    }

    pub(super) fn is_reusable(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients)
    }

    pub(super) fn envelope<'a>(
        &'a self,
        recipient: &'a Address,
        control: Option<&'a Address>,
    ) -> Envelope<'a> {
        let last = self.session_recipients == 1;
        Envelope { reverse_path: &self.reverse_path, recipient, control, last }
    }

    /// Opens a session over `stream` and asks in it; once more in the clear if encryption failed that
    /// the host never demanded.
    pub(super) async fn ask_in_new_session(
        &self,
        call: Call<'_>,
        stream: TcpStream,
        envelope: Envelope<'_>,
        stage: &mut Stage,
    ) -> Result<(Answer, HostSession), Failure> {
        let offers = self.memory.offers(call.host);
        let encrypt = self.starttls == StartTls::Always || offers.demands_tls;
        let ended = self.open_and_ask(call, stream, envelope, encrypt, stage).await;
        let tls_failed = matches!(
            ended,
            Err(Failure::Broken(Stage::StartTls, _) | Failure::Refused(Stage::StartTls, _))
        );
        if !(tls_failed && encrypt) {
            return ended;
        }
        // RFC 7435 §3: on a new connection, whose state is known. A server that does demand encryption
        // will say so, and fail this second attempt.
        *stage = Stage::Connect;
        match self.dialer.connect(call.identity, call.peer).await {
            Ok(stream) => self.open_and_ask(call, stream, envelope, false, stage).await,
            Err(_) => ended,
        }
    }

    async fn open_and_ask(
        &self,
        call: Call<'_>,
        stream: TcpStream,
        envelope: Envelope<'_>,
        encrypt: bool,
        stage: &mut Stage,
    ) -> Result<(Answer, HostSession), Failure> {
        let greeting = self.memory.offers(call.host).greeting;
        let mut session = Session::open(stream, &call.identity.helo_name, greeting, stage).await?;
        if session.greeting() != greeting {
            self.remember(call.host, |offers| offers.greeting = session.greeting());
        }
        if encrypt && session.capabilities().starttls {
            session = self.encrypt(session, call, stage).await?;
        }
        let mut answer = session.ask(envelope, stage).await?;
        if demands_tls(&answer) && session.capabilities().starttls && !session.is_encrypted() {
            self.remember(call.host, |offers| offers.demands_tls = true);
            session = self.encrypt(session, call, stage).await?;
            answer = session.ask(envelope, stage).await?;
        } else if demands_tls(&answer) && session.greeting() == Greeting::Helo {
            // It can hardly be as old as it seemed: next time it may show what it offers.
            self.remember(call.host, |offers| offers.greeting = Greeting::Ehlo);
        }
        Ok((answer, session))
    }

    async fn encrypt(
        &self,
        session: HostSession,
        call: Call<'_>,
        stage: &mut Stage,
    ) -> Result<HostSession, Failure> {
        // The end of the handshake and EHLO are two writes with no reply between: Nagle's algorithm
        // would hold the second back for a round trip. In the clear every write follows a reply.
        let undelayed = session.plain().map(|stream| stream.set_nodelay(true));
        undelayed.transpose().map_err(|_| Failure::Broken(Stage::StartTls, Broken::Closed))?;
        // The name is for SNI and resumption alone; a host whose name is none gets its address instead.
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

/// `530 Must issue a STARTTLS command first` (RFC 3207 §4), x.7.10 "encryption needed" (RFC 5248), or
/// Sendmail's `503 5.7.0 encryption too weak 0 less than 112`. The same 530 that wants a password is not
/// helped by encryption.
fn demands_tls(answer: &Answer) -> bool {
    let (Answer::Mail(reply) | Answer::Rcpt(reply)) = answer else { return false };
    !reply.is_positive() && names_encryption(reply)
}

fn names_encryption(reply: &Reply) -> bool {
    let needed = reply.enhanced.is_some_and(|code| (code.subject, code.detail) == (7, 10));
    let says = |words: &str| reply.text().to_ascii_lowercase().contains(words);
    needed || says("encryption too weak") || (reply.code == 530 && !says("authentication"))
}
