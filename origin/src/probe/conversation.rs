//! The dialogue with one host about one recipient, and the meaning of its answer for the verdict, the pool and the
//! memory of hosts.

use std::{net::SocketAddr, time::Duration};

use rcpt_pool::Signal;
use rcpt_shared::{CatchAll, Confidence, Details, Reason, Stage, Status, Verdict};
use rcpt_smtp::{Answer, Broken, Connection, Envelope, Failure, Patience, Reply};
use rcpt_verdict::{Finding, Scope};
use tokio::time::Instant;

use super::{
    client::{HostAnswer, HostPermit, HostSession},
    control::{self, keep_or_quit},
    host_probe::{HostProbe, Progress},
    memory::catch_all_key,
    outcome::{Outcome, RETRY_DELAY, Retry, our_limit},
    redact::redact,
    treatment::{is_about_recipient, signal},
};

/// A refusal that takes longer is delayed on purpose: its session ends, because the next refusal would take even
/// longer.
const TARPIT: Duration = Duration::from_secs(2);
/// Delays before asking again: a server that wasn't ready, and a server that is still looking up the recipient.
const NOT_READY_DELAY: Duration = Duration::from_secs(1);
const LOOKUP_DELAY: Duration = Duration::from_secs(2);
/// Longest wait for a banner while another host or address can be asked.
pub(super) const PATIENCE: Duration = Duration::from_millis(3_500);

pub(super) enum Resumed {
    Answered(Outcome),
    /// The session has ended, or can't be used again.
    Stale,
    /// The server refused us, perhaps because of earlier recipients, or demands encryption: ask in a new session.
    Refused,
}

impl HostProbe<'_> {
    /// `permit` is declared first and dropped last, even on cancellation, so that there is never a session too many.
    pub(super) async fn resume(
        &self,
        permit: HostPermit,
        mut session: HostSession,
        patience: Option<Patience>,
        progress: &mut Progress,
    ) -> Resumed {
        if !session.is_quiet().await {
            return Resumed::Stale;
        }
        session.set_patience(patience);
        let asked_at = Instant::now();
        let Ok(answer) = session.ask(self.envelope(), &mut progress.stage).await else {
            return Resumed::Stale;
        };
        let finding = self.client.judge_answer(&answer, &self.question.address);
        // A refusal of the session may be caused by earlier recipients instead of the current recipient. It has no
        // consequence but the refused recipient, which is taken back if a new session accepts it: if it is refused too,
        // that counts.
        let demands_tls =
            finding.demands_tls && session.capabilities().starttls && !session.is_encrypted();
        if demands_tls {
            self.client.remember(self.host, |offers| offers.demands_tls = true);
        }
        let needs_new = match &answer {
            Answer::Mail(_) => true,
            Answer::Rcpt(reply) => is_about_session(finding, reply) || demands_tls,
            Answer::Smtputf8Unsupported => false,
        };
        if needs_new {
            if matches!(answer, Answer::Rcpt(_)) {
                permit.note(Signal::Unread);
                progress.refused_by = permit.address();
            }
            session.quit(permit);
            return Resumed::Refused;
        }
        let recipient_reply = HostAnswer { answer, finding, session, took: asked_at.elapsed() };
        Resumed::Answered(self.conclude(recipient_reply, permit, progress))
    }

    pub(super) async fn hold(
        &self,
        stream: Box<dyn Connection>,
        peer: SocketAddr,
        patience: Option<Patience>,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Outcome {
        let began = Instant::now();
        let stage = &mut progress.stage;
        let asked = self.ask_in_new_session(stream, peer, &permit, patience, stage).await;
        let (finding, stage, reply) = match asked {
            Ok(outcome) => return self.conclude(outcome, permit, progress),
            Err(Failure::Refused(stage, reply)) => {
                let finding = self.client.judge(stage, &reply, &self.question.address);
                self.note(&permit, finding, stage, &reply);
                (finding, stage, Some(reply))
            }
            Err(Failure::Silent(stage)) => {
                // A server that had little time isn't blamed.
                let had = began.elapsed();
                if had >= PATIENCE / 2 {
                    self.client.memory.could_not_be_reached(self.host);
                    self.client.note_silence(self.host, &permit);
                }
                if progress.took_time_of(had, PATIENCE) {
                    return Outcome::NextHost(our_limit(RETRY_DELAY));
                }
                let silent = Verdict::new(Status::SmtpTimeout, Reason::Timeout, stage);
                return Outcome::NextHost(silent);
            }
            Err(Failure::Broken(stage, broken)) => {
                if broken == Broken::Closed {
                    self.client.note_silence(self.host, &permit);
                }
                (rcpt_verdict::judge_broken(broken), stage, None)
            }
        };
        self.next_host_unless_final(finding, stage, reply.as_ref(), false)
    }

    pub(super) fn envelope(&self) -> Envelope<'_> {
        self.client.envelope(&self.question.address, || self.is_last())
    }

    fn is_last(&self) -> bool {
        !self.client.is_informative(self.host)
            || self.client.memory.catch_all(&self.catch_all_key()).is_some()
    }

    fn catch_all_key(&self) -> String {
        catch_all_key(self.question.address.domain(), self.host)
    }

    fn note(&self, permit: &HostPermit, finding: Finding, stage: Stage, reply: &Reply) {
        let words = if finding.status == Status::BlockedByProvider {
            rcpt_verdict::in_our_words(stage, reply, &finding)
        } else {
            String::new()
        };
        let accepts_all =
            || self.client.memory.catch_all(&self.catch_all_key()) == Some(CatchAll::Yes);
        let signal = match signal(finding, stage, reply, &words) {
            Some(Signal::Answered { refused: false }) if accepts_all() => {
                Some(Signal::AcceptedLikeAny)
            }
            signal => signal,
        };
        if let Some(signal) = signal {
            self.client.note(self.host, permit, signal);
        }
    }

    fn conclude(
        &self,
        outcome: HostAnswer,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Outcome {
        let HostAnswer { answer, finding, session, took } = outcome;
        let tls = session.is_encrypted();
        let (stage, reply) = match &answer {
            Answer::Mail(reply) => (Stage::Mail, reply),
            Answer::Rcpt(reply) => (Stage::Rcpt, reply),
            Answer::Smtputf8Unsupported => {
                self.client.remember(self.host, |offers| offers.lacks_smtputf8 = true);
                session.quit(permit);
                return Outcome::Settled(self.detailed(finding, Stage::Ehlo, None, tls));
            }
        };
        self.note(&permit, finding, stage, reply);
        if finding.status == Status::Accepted
            && progress.refused_by.take().is_some_and(|by| Some(by) == permit.address())
        {
            permit.take_back_refusal();
        }
        if stage == Stage::Rcpt && self.is_list() {
            progress.undecided = self.client.wording(reply, &finding, &self.question.address);
        }
        let attempt = self.attempt(finding, stage, reply, tls);
        match (finding.status, attempt) {
            (Status::Accepted, Outcome::Settled(verdict)) => {
                Outcome::Settled(self.add_catch_all(verdict, session, permit, progress))
            }
            (Status::Refused, Outcome::Settled(verdict)) => {
                if took < TARPIT {
                    keep_or_quit(self.client, self.host, session, permit);
                } else {
                    session.quit(permit);
                }
                Outcome::Settled(self.add_known_catch_all(verdict, finding))
            }
            (_, attempt) => {
                // A rule of one domain or a ban of our address isn't the session's fault. Opening a new session each
                // time would use up the sessions that other checks at the host need.
                let ends =
                    matches!(attempt, Outcome::EqualHost(_, Some(Retry { afresh: true, .. })))
                        || is_about_session(finding, reply);
                if stage < Stage::Rcpt || took >= TARPIT || ends {
                    session.quit(permit);
                } else if finding.reason == Reason::Greylisted
                    && self.is_list()
                    && self.learns(&session, &permit)
                {
                    // When the list asks again, the greylist knows the invented name like the recipient's.
                    let domain = self.question.address.domain();
                    let ours = (session, permit);
                    drop(control::learn(self.client, self.host, domain, (None, true), ours));
                } else {
                    keep_or_quit(self.client, self.host, session, permit);
                }
                attempt
            }
        }
    }

    /// One refused name doesn't prove that other names are refused.
    fn add_known_catch_all(&self, verdict: Verdict, finding: Finding) -> Verdict {
        if verdict.reason != Reason::NoSuchMailbox {
            return verdict;
        }
        let key = self.catch_all_key();
        if finding.by_name {
            self.client.memory.refused_by_name(&key);
        }
        with_catch_all(verdict, self.client.memory.catch_all(&key).unwrap_or(CatchAll::Unknown))
    }

    /// True if it is unknown whether the host accepts everything, and the control recipient may be asked about now.
    fn learns(&self, session: &HostSession, permit: &HostPermit) -> bool {
        self.client.memory.catch_all(&self.catch_all_key()).is_none()
            && self.client.is_informative(self.host)
            && self.client.takes_control(self.host, session)
            && permit.spares_refusal()
    }

    /// The control recipient is asked about in the background, and `progress` keeps its result. In a list, a host of no
    /// known operator is asked only when the domain's own addresses are answered.
    fn add_catch_all(
        &self,
        verdict: Verdict,
        session: HostSession,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Verdict {
        let is_due = self.invents || self.is_backup || self.client.has_row(self.host);
        if !(is_due && self.learns(&session, &permit)) {
            keep_or_quit(self.client, self.host, session, permit);
            let catch_all = self.client.memory.catch_all(&self.catch_all_key());
            return with_catch_all(verdict, catch_all.unwrap_or(CatchAll::Unknown));
        }
        let domain = self.question.address.domain();
        let lead = (Some(&self.question.address), self.is_list());
        let learning = control::learn(self.client, self.host, domain, lead, (session, permit));
        progress.learning = Some(learning);
        verdict
    }

    /// Before RCPT, a failing server leads to the next server. A reply at RCPT doesn't lead to a backup host, which may
    /// accept everything because it knows less.
    fn attempt(&self, finding: Finding, stage: Stage, reply: &Reply, tls: bool) -> Outcome {
        let final_here = stage == Stage::Rcpt || finding.reason == Reason::Smtputf8Unsupported;
        if !final_here {
            return self.next_host_unless_final(finding, stage, Some(reply), tls);
        }
        let verdict = self.detailed(finding, stage, Some(reply), tls);
        match ready_after(reply) {
            None if !is_out_of_order(reply) => Outcome::Settled(verdict),
            retry => Outcome::EqualHost(verdict, retry),
        }
    }

    fn next_host_unless_final(
        &self,
        finding: Finding,
        stage: Stage,
        reply: Option<&Reply>,
        tls: bool,
    ) -> Outcome {
        let verdict = self.detailed(finding, stage, reply, tls);
        // A banner with unknown words may be that of a host that no longer accepts mail.
        let may_be_its_own = stage == Stage::Banner && finding.reception.scope == Scope::Nothing;
        if finding.status == Status::SmtpConnectError || may_be_its_own {
            Outcome::NextHost(verdict)
        } else {
            Outcome::Settled(verdict)
        }
    }

    fn detailed(
        &self,
        finding: Finding,
        stage: Stage,
        reply: Option<&Reply>,
        tls: bool,
    ) -> Verdict {
        let verdict = finding.at(stage, reply);
        let identities = self.client.identities();
        let names = identities.helo_names();
        let text = reply.map(|reply| redact(reply.beginning(), &self.question.address, names));
        let confidence =
            if finding.is_doubtful { Confidence::Medium } else { Confidence::default() };
        let details = Details { confidence, ..Details::new(text, Some(tls)) };
        Verdict { details: Some(Box::new(details)), ..verdict }
    }
}

pub(super) fn with_catch_all(mut verdict: Verdict, found: CatchAll) -> Verdict {
    if found == CatchAll::Yes && verdict.reason == Reason::Accepted {
        verdict.reason = Reason::AcceptedCatchAll;
    }
    if let Some(details) = &mut verdict.details {
        details.catch_all = found;
    }
    verdict
}

/// A new session may get a different reply for 421, and for a limit that isn't the recipient's.
fn is_about_session(finding: Finding, reply: &Reply) -> bool {
    reply.code == 421 || (!is_about_recipient(finding) && finding.reception.scope == Scope::Rate)
}

/// Postscreen sends `450 4.3.2` to a client that it has just tested, and admits it when it reconnects. Postfix sends
/// `450 4.1.1 … verification in progress` while it asks another server.
fn ready_after(reply: &Reply) -> Option<Retry> {
    if !reply.is_transient() || reply.code == 421 {
        return None;
    }
    let enhanced = reply.enhanced.map(|code| (code.subject, code.detail));
    if reply.beginning().to_ascii_lowercase().contains("verification in progress") {
        Some(Retry { after: LOOKUP_DELAY, afresh: false })
    } else {
        // Postscreen gives no other reply in this session.
        (enhanced == Some((3, 2))).then_some(Retry { after: NOT_READY_DELAY, afresh: true })
    }
}

/// 4.3.x (RFC 3463 §3.4): this host's mail system is failing. Other hosts may work.
fn is_out_of_order(reply: &Reply) -> bool {
    let subject = reply.enhanced.map(|code| code.subject);
    reply.is_transient() && reply.code != 421 && subject == Some(3)
}
