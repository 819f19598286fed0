use std::{net::SocketAddr, ops::ControlFlow, time::Duration};

use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Verdict};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::rustls::pki_types::ServerName;

use super::{Attempt, Prober, Progress, text};
use crate::{
    config::StartTls,
    hosts::Offers,
    identity::Identity,
    pace::{Signal, Slot},
    smtp::{Answer, Broken, Envelope, Failure, Greeting, Reply, Session},
    verdict::{self, Finding, Reception, Scope},
};

/// For the reply to the control recipient, once the verdict is in hand. Servers that delay replies to
/// unknown recipients do so by a second or two.
const CONTROL_PATIENCE: Duration = Duration::from_secs(3);

pub(super) type Place = Slot<Session<TcpStream>>;

/// One host asked about one recipient.
#[derive(Clone, Copy)]
pub(super) struct Conversation<'a> {
    pub prober: &'a Prober,
    pub host: &'a str,
    pub recipient: &'a Address,
    /// Asked about behind the recipient, when the caller wants to know and nobody does.
    pub control: Option<&'a Address>,
    pub details: bool,
}

impl Conversation<'_> {
    /// Asks in a session that has served before. `Err` with the place when that says nothing about
    /// the recipient: the question is then to be asked in a session of its own.
    pub(super) async fn resume(
        &self,
        mut session: Session<TcpStream>,
        place: Place,
        progress: &mut Progress,
    ) -> Result<Attempt, Place> {
        if !session.is_quiet().await {
            return Err(place);
        }
        let Ok(answer) = session.ask(self.envelope(), &mut progress.stage).await else {
            return Err(place);
        };
        // What it says about us may be for what was asked before, and not for this recipient.
        let about_us = match &answer {
            Answer::Mail(_) => true,
            Answer::Rcpt(reply) => {
                reply.code != 421
                    && !matches!(
                        verdict::judge(Stage::Rcpt, reply).status,
                        Status::Accepted | Status::Refused
                    )
            }
            Answer::Smtputf8Unsupported => false,
        };
        if about_us {
            session.quit().await;
            return Err(place);
        }
        Ok(self.conclude(answer, session, place, progress).await)
    }

    /// Holds the dialogue over `stream`, which leads to `peer`. The place is given back when the
    /// next address of the host is to be tried.
    pub(super) async fn hold(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: Place,
        progress: &mut Progress,
    ) -> (Attempt, Option<Place>) {
        let identity = self.identity(&place);
        let offers = self.prober.hosts.offers(self.host);
        let always = self.prober.config.starttls == StartTls::Always || offers.demands_tls;
        let greeting = offers.greeting;
        let mut ended =
            self.ask(stream, peer, identity, greeting, always, &mut progress.stage).await;
        let tls_failed = matches!(
            ended,
            Err(Failure::Broken(Stage::StartTls, _) | Failure::Refused(Stage::StartTls, _))
        );
        if tls_failed && always {
            // Nobody demanded it (RFC 7435 §3): once more in the clear, on a connection whose state is
            // known. A server that does demand it will say so, and fail this second attempt.
            progress.stage = Stage::Connect;
            if let Ok(stream) = self.prober.dialer.connect(identity, peer).await {
                ended =
                    self.ask(stream, peer, identity, greeting, false, &mut progress.stage).await;
            }
        }
        match ended {
            Ok((answer, session)) => (self.conclude(answer, session, place, progress).await, None),
            Err(Failure::Refused(stage, reply)) => {
                let finding = verdict::judge(stage, &reply);
                if let Some(signal) = signal(finding, stage, &reply) {
                    place.note(signal);
                }
                (self.next_host_unless_final(finding, stage, Some(&reply), false), Some(place))
            }
            Err(Failure::Broken(stage, broken)) => {
                let finding = verdict::judge_broken(broken);
                (self.next_host_unless_final(finding, stage, None, false), Some(place))
            }
            // A session of one recipient has never been idle.
            Err(Failure::Stale) => {
                let finding = verdict::judge_broken(Broken::Closed);
                (self.next_host_unless_final(finding, Stage::Mail, None, false), Some(place))
            }
        }
    }

    const fn envelope(&self) -> Envelope<'_> {
        Envelope {
            reverse_path: self.prober.config.mail_from.as_str(),
            recipient: self.recipient,
            control: self.control,
            last: self.prober.config.session_recipients == 1,
        }
    }

    fn identity(&self, place: &Place) -> &Identity {
        self.prober.identity(place.identity())
    }

    async fn ask(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        identity: &Identity,
        greeting: Greeting,
        encrypt: bool,
        stage: &mut Stage,
    ) -> Result<(Answer, Session<TcpStream>), Failure> {
        let mut session = Session::open(stream, &identity.helo_name, greeting, stage).await?;
        if session.greeting() != greeting {
            self.remember(|offers| offers.greeting = session.greeting());
        }
        if encrypt && session.capabilities().starttls {
            session = self.encrypt(session, peer, identity, stage).await?;
        }
        let mut answer = session.ask(self.envelope(), stage).await?;
        if demands_tls(&answer) && session.capabilities().starttls && !session.is_encrypted() {
            self.remember(|offers| offers.demands_tls = true);
            session = self.encrypt(session, peer, identity, stage).await?;
            answer = session.ask(self.envelope(), stage).await?;
        } else if demands_tls(&answer) && session.greeting() == Greeting::Helo {
            // It can hardly be as old as it seemed: next time it may show what it offers.
            self.remember(|offers| offers.greeting = Greeting::Ehlo);
        }
        Ok((answer, session))
    }

    async fn encrypt(
        &self,
        session: Session<TcpStream>,
        peer: SocketAddr,
        identity: &Identity,
        stage: &mut Stage,
    ) -> Result<Session<TcpStream>, Failure> {
        // The end of the handshake and EHLO are two writes with no reply between: Nagle's algorithm
        // would hold the second back for a round trip. In the clear every write follows a reply.
        let undelayed = session.plain().map(|stream| stream.set_nodelay(true));
        undelayed.transpose().map_err(|_| Failure::Broken(Stage::StartTls, Broken::Closed))?;
        // The name is for SNI and resumption alone; a host whose name is none gets its address instead.
        let name = ServerName::try_from(self.host.to_owned())
            .unwrap_or_else(|_| ServerName::IpAddress(peer.ip().into()));
        // Boxed: the handshake is rare, and its state would be part of every probe's.
        let handshake = session.start_tls(&self.prober.tls, name, &identity.helo_name, stage);
        Box::pin(handshake).await
    }

    fn remember(&self, change: impl FnOnce(&mut Offers)) {
        let mut offers = self.prober.hosts.offers(self.host);
        change(&mut offers);
        self.prober.hosts.showed(self.host, offers);
    }

    /// From the answer to the verdict, and what becomes of session and place.
    async fn conclude(
        &self,
        answer: Answer,
        mut session: Session<TcpStream>,
        place: Place,
        progress: &mut Progress,
    ) -> Attempt {
        let tls = session.is_encrypted();
        let (stage, reply) = match &answer {
            Answer::Mail(reply) => (Stage::Mail, reply),
            Answer::Rcpt(reply) => (Stage::Rcpt, reply),
            Answer::Smtputf8Unsupported => {
                self.remember(|offers| offers.lacks_smtputf8 = true);
                session.quit().await;
                let verdict = verdict::smtputf8_unsupported().at(Stage::Ehlo, None);
                return ControlFlow::Break(self.detailed(verdict, None, tls));
            }
        };
        let finding = verdict::judge(stage, reply);
        if let Some(signal) = signal(finding, stage, reply) {
            place.note(signal);
        }
        let mut attempt = self.judged(finding, stage, reply, tls);
        let about_recipient = matches!(finding.status, Status::Accepted | Status::Refused);
        if let (ControlFlow::Break(verdict), true) = (&mut attempt, about_recipient) {
            self.ask_control(&mut session, finding, verdict, progress).await;
        }
        if about_recipient && session.is_reusable(self.prober.config.session_recipients) {
            place.keep(session);
        } else {
            session.quit().await;
        }
        attempt
    }

    /// Finds out whether the domain takes everything, and adds it to the verdict.
    async fn ask_control(
        &self,
        session: &mut Session<TcpStream>,
        finding: Finding,
        verdict: &mut Verdict,
        progress: &mut Progress,
    ) {
        if !self.details {
            return;
        }
        let domain = self.recipient.domain();
        let mut known = self.prober.hosts.catch_all(domain);
        if let Some(control) = self.control {
            // If the budget ends meanwhile, this is the verdict.
            progress.settled = Some(Box::new(verdict.clone()));
            let accepted = finding.status == Status::Accepted;
            let asking = session.control(control, accepted);
            let told = timeout(CONTROL_PATIENCE, asking).await.ok().flatten();
            let told = told.map(|reply| verdict::judge(Stage::Rcpt, &reply));
            let found = catch_all(finding, told);
            self.prober.hosts.is_catch_all(domain, found);
            known = Some(found);
        }
        if known == Some(CatchAll::Yes) && verdict.reason == Reason::Accepted {
            verdict.reason = Reason::AcceptedCatchAll;
        }
        if let (Some(details), Some(known)) = (&mut verdict.details, known) {
            details.catch_all = known;
        }
    }

    /// Before RCPT, a server that is out of order sends us to the next. What is said at RCPT stands: a
    /// backup host that takes everything knows less than the one that was asked first.
    fn judged(&self, finding: Finding, stage: Stage, reply: &Reply, tls: bool) -> Attempt {
        let final_here = stage == Stage::Rcpt || finding.reason == Reason::Smtputf8Unsupported;
        if final_here {
            ControlFlow::Break(self.detailed(finding.at(stage, Some(reply)), Some(reply), tls))
        } else {
            self.next_host_unless_final(finding, stage, Some(reply), tls)
        }
    }

    fn next_host_unless_final(
        &self,
        finding: Finding,
        stage: Stage,
        reply: Option<&Reply>,
        tls: bool,
    ) -> Attempt {
        let verdict = self.detailed(finding.at(stage, reply), reply, tls);
        if finding.status == Status::SmtpConnectError {
            ControlFlow::Continue(verdict)
        } else {
            ControlFlow::Break(verdict)
        }
    }

    fn detailed(&self, verdict: Verdict, reply: Option<&Reply>, tls: bool) -> Verdict {
        if !self.details {
            return verdict;
        }
        let helo_name = &self.prober.config.helo_name;
        let text = reply.map(|reply| text::shown(reply.text(), self.recipient, helo_name));
        let details = Details::new(text, Some(tls));
        Verdict { details: Some(Box::new(details)), ..verdict }
    }
}

/// What the target's answer and the control recipient's say together.
fn catch_all(target: Finding, control: Option<Finding>) -> CatchAll {
    let unknown = |finding: Finding| finding.reason == Reason::NoSuchMailbox;
    match control {
        Some(control) if control.status == Status::Accepted => CatchAll::Yes,
        Some(control) if unknown(control) => CatchAll::No,
        _ if unknown(target) => CatchAll::No,
        _ => CatchAll::Unknown,
    }
}

/// What the operator is to be remembered for. Rules of one recipient or domain say nothing of the next.
fn signal(finding: Finding, stage: Stage, reply: &Reply) -> Option<Signal> {
    let Reception { scope, hint } = finding.reception;
    let after = hint.map(|seconds| Duration::from_secs(seconds.into()));
    let blocked = finding.status == Status::BlockedByProvider;
    match scope {
        Scope::Nothing => {
            let about_recipient = matches!(finding.status, Status::Accepted | Status::Refused);
            about_recipient.then_some(Signal::Welcome)
        }
        Scope::DomainRule if stage == Stage::Rcpt => None,
        _ if stage < Stage::Rcpt || reply.code == 421 => Some(Signal::Refused { blocked, after }),
        _ => Some(Signal::Doubtful { after }),
    }
}

fn demands_tls(answer: &Answer) -> bool {
    let (Answer::Mail(reply) | Answer::Rcpt(reply)) = answer else { return false };
    verdict::demands_tls(reply)
}
