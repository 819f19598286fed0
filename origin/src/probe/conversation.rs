//! The dialogue with one host about one recipient, and what its answer means for the verdict, the pool
//! and the memory of hosts.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Verdict};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout},
};

use super::{
    attempt::Attempt,
    client::{Call, Client, HostSession, Told},
    control::{self, keep_or_quit},
    progress::Progress,
    redact::{redact, redact_for_log},
};
use crate::{
    pool::{Permit, Refusal, Signal},
    smtp::{Answer, Broken, Failure, Reply},
    verdict::{self, Finding, Reception, Scope},
};

/// How long one who wants to know waits for what comes of the control recipient.
const CONTROL_PATIENCE: Duration = Duration::from_secs(3);
/// A refusal that took longer was delayed on purpose, and the next one would be delayed more.
const TARPIT: Duration = Duration::from_secs(2);
/// A server that was not ready, or is still looking the recipient up, is asked again after so long.
const NOT_READY: Duration = Duration::from_secs(1);
const LOOKING_UP: Duration = Duration::from_secs(2);

pub(super) type HostPermit = Permit<HostSession>;

/// One host asked about one recipient.
#[derive(Clone, Copy)]
pub(super) struct Conversation<'a> {
    pub client: &'a Arc<Client>,
    pub host: &'a str,
    pub recipient: &'a Address,
    /// The host is fixed by configuration.
    pub by_route: bool,
    pub details: bool,
    /// A host of a better preference was not asked: one that accepts everything may know less.
    pub is_backup: bool,
}

/// What came of a session that has served before.
pub(super) enum Resumed {
    Answered(Attempt),
    /// It has ended, or is of no use any more.
    Stale,
    /// It was refused, perhaps for what was asked in it before: the question is to be asked in a session of its own.
    Refused,
}

impl Conversation<'_> {
    /// What is named later is dropped sooner: the session ends before its permit, also where this is cut off, so that
    /// there is never one too many.
    pub(super) async fn resume(
        &self,
        permit: HostPermit,
        mut session: HostSession,
        progress: &mut Progress,
    ) -> Resumed {
        if !session.is_quiet().await {
            return Resumed::Stale;
        }
        let asked = Instant::now();
        let envelope = self.client.envelope(self.recipient, || self.is_last());
        let Ok(answer) = session.ask(envelope, &mut progress.stage).await else {
            return Resumed::Stale;
        };
        // A refusal of the session may be for what was asked before, and not for this recipient. It is
        // taken note of all the same.
        let (stage, reply, is_final) = match &answer {
            Answer::Mail(reply) => (Stage::Mail, reply, false),
            Answer::Rcpt(reply) => {
                let finding = verdict::judge(Stage::Rcpt, reply);
                (Stage::Rcpt, reply, reply.code == 421 || !is_about_session(finding, reply))
            }
            Answer::Smtputf8Unsupported => {
                let told = Told { answer, session, took: asked.elapsed() };
                return Resumed::Answered(self.conclude(told, permit, progress).await);
            }
        };
        if !is_final {
            self.note(&permit, verdict::judge(stage, reply), stage, reply);
            session.quit().await;
            return Resumed::Refused;
        }
        let told = Told { answer, session, took: asked.elapsed() };
        Resumed::Answered(self.conclude(told, permit, progress).await)
    }

    /// Holds the dialogue over `stream`, which leads to `peer`.
    pub(super) async fn hold(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        patience: Duration,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Attempt {
        let identity = self.client.identity(permit.identity());
        let call = Call { host: self.host, peer, identity, by_route: self.by_route, patience };
        let envelope = self.client.envelope(self.recipient, || self.is_last());
        let asking = self.client.ask_in_new_session(call, stream, envelope, &mut progress.stage);
        let (finding, stage, reply) = match asking.await {
            Ok(told) => return self.conclude(told, permit, progress).await,
            Err(Failure::Refused(stage, reply)) => {
                let finding = verdict::judge(stage, &reply);
                self.note(&permit, finding, stage, &reply);
                (finding, stage, Some(reply))
            }
            Err(Failure::Silent) => {
                self.client.memory.could_not_be_reached(self.host);
                let silent = Verdict::new(Status::SmtpTimeout, Reason::Timeout, Stage::Banner);
                return Attempt::NextHost(silent);
            }
            Err(Failure::Broken(stage, broken)) => (verdict::judge_broken(broken), stage, None),
            // A session of one recipient has never been idle.
            Err(Failure::Stale) => (verdict::judge_broken(Broken::Closed), Stage::Mail, None),
        };
        self.next_host_unless_final(finding, stage, reply.as_ref(), false)
    }

    /// Nothing follows the recipient in its session: no control recipient.
    fn is_last(&self) -> bool {
        !self.client.is_informative(self.host)
            || self.client.memory.catch_all(&self.catch_all_key()).is_some()
    }

    fn catch_all_key(&self) -> String {
        control::key(self.recipient.domain(), self.host)
    }

    fn note(&self, permit: &HostPermit, finding: Finding, stage: Stage, reply: &Reply) {
        let words = if finding.status == Status::BlockedByProvider {
            redact_for_log(reply.text(), self.recipient, self.client.helo_names())
        } else {
            String::new()
        };
        if let Some(signal) = signal(finding, stage, reply, &words) {
            permit.note(signal);
        }
    }

    /// From the answer to the verdict, and what becomes of session and permit.
    async fn conclude(&self, told: Told, permit: HostPermit, progress: &mut Progress) -> Attempt {
        let Told { answer, session, took } = told;
        let tls = session.is_encrypted();
        let (stage, reply) = match &answer {
            Answer::Mail(reply) => (Stage::Mail, reply),
            Answer::Rcpt(reply) => (Stage::Rcpt, reply),
            Answer::Smtputf8Unsupported => {
                self.client.remember(self.host, |offers| offers.lacks_smtputf8 = true);
                session.quit().await;
                let verdict = verdict::smtputf8_unsupported().at(Stage::Ehlo, None);
                return Attempt::Settled(self.detailed(verdict, None, tls));
            }
        };
        let finding = verdict::judge(stage, reply);
        self.note(&permit, finding, stage, reply);
        let attempt = self.judged(finding, stage, reply, tls);
        match (finding.status, attempt) {
            (Status::Accepted, Attempt::Settled(verdict)) => {
                Attempt::Settled(self.accepted(verdict, session, permit, progress).await)
            }
            (Status::Refused, Attempt::Settled(verdict)) => {
                if took < TARPIT {
                    keep_or_quit(self.client, session, permit);
                } else {
                    session.quit().await;
                }
                Attempt::Settled(self.refused(verdict))
            }
            (_, attempt) => {
                // A rule of one domain, or a ban of our address, is no fault of the session: to open
                // another for each would cost the neighbours theirs.
                if stage == Stage::Rcpt && took < TARPIT && !is_about_session(finding, reply) {
                    keep_or_quit(self.client, session, permit);
                } else {
                    session.quit().await;
                }
                attempt
            }
        }
    }

    /// A mailbox that does not exist was refused by name, so not everything is accepted.
    fn refused(&self, verdict: Verdict) -> Verdict {
        if verdict.reason != Reason::NoSuchMailbox {
            return verdict;
        }
        self.client.memory.is_catch_all(&self.catch_all_key(), CatchAll::No);
        with_catch_all(verdict, CatchAll::No)
    }

    /// Adds whether the host accepts everything for the domain. What is not known is learnt in the
    /// background; one who wants details waits for it, and so does an answer of a backup host.
    async fn accepted(
        &self,
        verdict: Verdict,
        session: HostSession,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Verdict {
        let known = self.client.memory.catch_all(&self.catch_all_key());
        let learns = known.is_none()
            && self.client.is_informative(self.host)
            && self.client.takes_control(&session);
        if !learns {
            keep_or_quit(self.client, session, permit);
            return with_catch_all(verdict, known.unwrap_or(CatchAll::Unknown));
        }
        let domain = self.recipient.domain();
        let learning = control::learn(self.client, self.host, domain, session, permit);
        if !(self.details || self.is_backup) {
            return verdict;
        }
        // If the budget ends meanwhile, this is the verdict.
        progress.settled = Some(Box::new(verdict.clone()));
        let found = timeout(CONTROL_PATIENCE, learning).await.unwrap_or(CatchAll::Unknown);
        with_catch_all(verdict, found)
    }

    /// Before RCPT, a server that is out of order sends us to the next. What is said at RCPT stands: a
    /// backup host that takes everything knows less than the one that was asked first.
    fn judged(&self, finding: Finding, stage: Stage, reply: &Reply, tls: bool) -> Attempt {
        let final_here = stage == Stage::Rcpt || finding.reason == Reason::Smtputf8Unsupported;
        if !final_here {
            return self.next_host_unless_final(finding, stage, Some(reply), tls);
        }
        let verdict = self.detailed(finding.at(stage, Some(reply)), Some(reply), tls);
        match ready_after(reply) {
            Some(moment) => Attempt::AskAgain(verdict, moment),
            None if is_out_of_order(reply) => Attempt::AskEqual(verdict),
            None => Attempt::Settled(verdict),
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
            Attempt::NextHost(verdict)
        } else {
            Attempt::Settled(verdict)
        }
    }

    fn detailed(&self, verdict: Verdict, reply: Option<&Reply>, tls: bool) -> Verdict {
        if !self.details {
            return verdict;
        }
        let names = self.client.helo_names();
        let text = reply.map(|reply| redact(reply.text(), self.recipient, names));
        let details = Details::new(text, Some(tls));
        Verdict { details: Some(Box::new(details)), ..verdict }
    }
}

fn with_catch_all(mut verdict: Verdict, found: CatchAll) -> Verdict {
    if found == CatchAll::Yes && verdict.reason == Reason::Accepted {
        verdict.reason = Reason::AcceptedCatchAll;
    }
    if let Some(details) = &mut verdict.details {
        details.catch_all = found;
    }
    verdict
}

const fn is_about_recipient(finding: Finding) -> bool {
    matches!(finding.status, Status::Accepted | Status::Refused)
}

/// A reply to RCPT that ends the session, or that another session may not get: too many of something.
fn is_about_session(finding: Finding, reply: &Reply) -> bool {
    reply.code == 421 || (!is_about_recipient(finding) && finding.reception.scope == Scope::Rate)
}

/// Postscreen answers `450 4.3.2` to a client that it has just tested and lets it in when it connects
/// again; Postfix answers `450 4.1.1 … verification in progress` while it asks elsewhere.
fn ready_after(reply: &Reply) -> Option<Duration> {
    if !reply.is_transient() || reply.code == 421 {
        return None;
    }
    let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
    if reply.text().to_ascii_lowercase().contains("verification in progress") {
        Some(LOOKING_UP)
    } else {
        (enhanced == Some((3, 2))).then_some(NOT_READY)
    }
}

/// 4.3.x: the mail system of this host fails at the moment (RFC 3463 §3.4). Another one may not.
fn is_out_of_order(reply: &Reply) -> bool {
    let subject = reply.enhanced.map(|code| code.subject);
    reply.is_transient() && reply.code != 421 && subject == Some(3)
}

/// What the pool is to know of a reply. Greylisting and relaying are rules for one recipient or domain,
/// and say nothing of the next question.
pub(super) fn signal<'a>(
    finding: Finding,
    stage: Stage,
    reply: &Reply,
    words: &'a str,
) -> Option<Signal<'a>> {
    if is_about_recipient(finding) {
        return Some(Signal::Answered { refused: finding.status == Status::Refused });
    }
    let Reception { scope, hint } = finding.reception;
    let (closing, before_rcpt) = (reply.code == 421, stage < Stage::Rcpt);
    let blocked = finding.status == Status::BlockedByProvider;
    let is_ours = match finding.reason {
        Reason::Greylisted | Reason::RelayDenied => closing,
        _ => scope != Scope::Nothing || closing || (blocked && before_rcpt),
    };
    let about_our_address = match scope {
        Scope::OurAddress => true,
        Scope::Rate => matches!(finding.reason, Reason::Blocked | Reason::ReverseDnsRequired),
        Scope::DomainRule | Scope::Nothing => false,
    };
    is_ours.then_some(Signal::Refused(Refusal {
        before_rcpt,
        closing,
        about_our_address,
        hint: hint.map(|seconds| Duration::from_secs(seconds.into())),
        words,
    }))
}
