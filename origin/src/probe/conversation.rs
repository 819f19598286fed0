//! The dialogue with one host about one recipient, and what its answer means for the verdict, the pool
//! and the memory of hosts.

use std::{net::SocketAddr, time::Duration};

use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Traits, Verdict};
use tokio::{net::TcpStream, time::timeout};

use super::{
    attempt::Attempt,
    client::{Call, Client, HostSession},
    prober::Progress,
    redact::redact,
};
use crate::{
    pool::Permit,
    smtp::{Answer, Broken, Failure, Reply},
    verdict::{self, Finding},
};

/// For the reply to the control recipient, once the verdict is in hand. Servers that delay replies to
/// unknown recipients do so by a second or two.
const CONTROL_PATIENCE: Duration = Duration::from_secs(3);

pub(super) type HostPermit = Permit<HostSession>;

/// One host asked about one recipient.
#[derive(Clone, Copy)]
pub(super) struct Conversation<'a> {
    pub client: &'a Client,
    pub host: &'a str,
    pub recipient: &'a Address,
    /// Asked about behind the recipient, when the caller wants to know and it is not known.
    pub control: Option<&'a Address>,
    pub details: bool,
}

/// What came of a session that has served before.
pub(super) enum Resumed {
    Answered(Attempt),
    /// It said nothing about the recipient: the question is to be asked in a session of its own.
    Stale(HostPermit),
}

/// What came of a new session.
pub(super) struct Held {
    pub attempt: Attempt,
    /// Given back when the next address of the host may be tried with it.
    pub permit: Option<HostPermit>,
}

impl Conversation<'_> {
    pub(super) async fn resume(
        &self,
        mut session: HostSession,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Resumed {
        if !session.is_quiet().await {
            return Resumed::Stale(permit);
        }
        let envelope = self.client.envelope(self.recipient, self.control);
        let Ok(answer) = session.ask(envelope, &mut progress.stage).await else {
            return Resumed::Stale(permit);
        };
        // What it says about us may be for what was asked before, and not for this recipient.
        let about_us = match &answer {
            Answer::Mail(_) => true,
            Answer::Rcpt(reply) => {
                reply.code != 421 && !is_about_recipient(verdict::judge(Stage::Rcpt, reply))
            }
            Answer::Smtputf8Unsupported => false,
        };
        if about_us {
            session.quit().await;
            return Resumed::Stale(permit);
        }
        Resumed::Answered(self.conclude(answer, session, permit, progress).await)
    }

    /// Holds the dialogue over `stream`, which leads to `peer`.
    pub(super) async fn hold(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Held {
        let call =
            Call { host: self.host, peer, identity: self.client.identity(permit.identity()) };
        let envelope = self.client.envelope(self.recipient, self.control);
        let asking = self.client.ask_in_new_session(call, stream, envelope, &mut progress.stage);
        let (finding, stage, reply) = match asking.await {
            Ok((answer, session)) => {
                let attempt = self.conclude(answer, session, permit, progress).await;
                return Held { attempt, permit: None };
            }
            Err(Failure::Refused(stage, reply)) => {
                let finding = verdict::judge(stage, &reply);
                if let Some(signal) = finding.signal(stage, &reply) {
                    permit.note(signal);
                }
                (finding, stage, Some(reply))
            }
            Err(Failure::Broken(stage, broken)) => (verdict::judge_broken(broken), stage, None),
            // A session of one recipient has never been idle.
            Err(Failure::Stale) => (verdict::judge_broken(Broken::Closed), Stage::Mail, None),
        };
        let attempt = self.next_host_unless_final(finding, stage, reply.as_ref(), false);
        Held { attempt, permit: Some(permit) }
    }

    /// From the answer to the verdict, and what becomes of session and permit.
    async fn conclude(
        &self,
        answer: Answer,
        mut session: HostSession,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Attempt {
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
        if let Some(signal) = finding.signal(stage, reply) {
            permit.note(signal);
        }
        let mut attempt = self.judged(finding, stage, reply, tls);
        let about_recipient = is_about_recipient(finding);
        if let (Attempt::Settled(verdict), true) = (&mut attempt, about_recipient) {
            self.ask_control(&mut session, finding, verdict, progress).await;
        }
        if about_recipient && self.client.is_reusable(&session) {
            permit.keep(session);
        } else {
            session.quit().await;
        }
        attempt
    }

    /// Finds out whether the domain takes everything, and adds it to the verdict.
    async fn ask_control(
        &self,
        session: &mut HostSession,
        finding: Finding,
        verdict: &mut Verdict,
        progress: &mut Progress,
    ) {
        if !self.details {
            return;
        }
        let domain = self.recipient.domain();
        let mut known = self.client.memory.catch_all(domain);
        if let Some(control) = self.control {
            // If the budget ends meanwhile, this is the verdict.
            progress.settled = Some(Box::new(verdict.clone()));
            let accepted = finding.status == Status::Accepted;
            let asking = session.control(control, accepted);
            let told = timeout(CONTROL_PATIENCE, asking).await.ok().flatten();
            let told = told.map(|reply| verdict::judge(Stage::Rcpt, &reply));
            let found = catch_all(finding, told);
            self.client.memory.is_catch_all(domain, found);
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
            Attempt::Settled(self.detailed(finding.at(stage, Some(reply)), Some(reply), tls))
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
            Attempt::NextHost(verdict)
        } else {
            Attempt::Settled(verdict)
        }
    }

    fn detailed(&self, verdict: Verdict, reply: Option<&Reply>, tls: bool) -> Verdict {
        if !self.details {
            return verdict;
        }
        let helo_name = self.client.helo_name();
        let details = Details {
            smtp_text: reply.map(|reply| redact(reply.text(), self.recipient, helo_name)),
            catch_all: CatchAll::Unknown,
            tls: Some(tls),
            duration_ms: 0,
            traits: Traits::default(),
        };
        Verdict { details: Some(Box::new(details)), ..verdict }
    }
}

const fn is_about_recipient(finding: Finding) -> bool {
    matches!(finding.status, Status::Accepted | Status::Refused)
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
