//! One host asked: where it is, in which session, and what its failures mean.

use std::net::SocketAddr;

use rand::Rng as _;
use rcpt_shared::{Address, Reason, Stage, Status, Verdict};
use tokio::time::Instant;

use super::{
    attempt::Attempt,
    best_failure::BestFailure,
    client::{Client, HostSession},
    conversation::{Conversation, Held, HostPermit, Resumed},
    prober::{Progress, Question, dns_failure},
    resolver::{DnsFailed, Found, Resolver},
};
use crate::{
    pool::{Acquired, Pool, Refused, Request, operators},
    smtp::Unconnected,
    verdict,
};

/// What asking a host takes.
#[derive(Clone, Copy)]
pub(super) struct HostProbe<'a> {
    pub resolver: &'a Resolver,
    pub client: &'a Client,
    pub pool: &'a std::sync::Arc<Pool<HostSession>>,
    pub question: Question<'a>,
}

/// What waiting for a session came to.
enum Access {
    /// A session may be opened.
    Permit(HostPermit),
    /// There is none to be had, or one that was idle has answered.
    Attempt(Attempt),
}

impl HostProbe<'_> {
    /// Asks one host: in an idle session if there is one, else in a new one.
    ///
    /// Each step is boxed: a probe that a silent server holds has the memory of that step alone, and
    /// not of the largest of all.
    pub(super) async fn ask(self, host: &str, found: Found, progress: &mut Progress) -> Attempt {
        let recipient = self.question.address;
        let memory = &self.client.memory;
        let attempt = if recipient.needs_smtputf8() && memory.offers(host).lacks_smtputf8 {
            Attempt::Settled(verdict::smtputf8_unsupported().at(Stage::Ehlo, None))
        } else {
            let control = self.control_recipient();
            let conversation = Conversation {
                client: self.client,
                host,
                recipient,
                control: control.as_ref(),
                details: self.question.details,
            };
            self.converse(conversation, found, progress).await
        };
        attempt.map(|verdict| Verdict { mx_host: Some(host.to_owned()), ..verdict })
    }

    async fn converse(
        self,
        conversation: Conversation<'_>,
        found: Found,
        progress: &mut Progress,
    ) -> Attempt {
        let host = conversation.host;
        let route = match found {
            Found::InDns => None,
            Found::ByRoute(port) => Some(format!("{host}:{port}")),
        };
        let request = Request {
            operator: route.as_deref().unwrap_or_else(|| operators::of(host)),
            host,
            domain: conversation.recipient.domain(),
            exempt: route.is_some(),
        };
        let mut permit = None;
        if let Some((session, idle)) = self.pool.idle(request) {
            match Box::pin(conversation.resume(session, idle, progress)).await {
                Resumed::Answered(attempt) => return attempt,
                Resumed::Stale(left) => permit = Some(left),
            }
        }
        progress.stage = Stage::Dns;
        let addresses = match Box::pin(self.resolver.addresses(host, found)).await {
            Ok(addresses) if addresses.is_empty() => {
                return Attempt::NextHost(no_usable_address());
            }
            Ok(addresses) => addresses,
            Err(DnsFailed) => return Attempt::NextHost(dns_failure()),
        };
        progress.stage = Stage::Connect;
        let access = match permit {
            Some(permit) => Access::Permit(permit),
            None => Box::pin(self.access(request, conversation, progress)).await,
        };
        match access {
            Access::Permit(permit) => self.dial(conversation, addresses, permit, progress).await,
            Access::Attempt(attempt) => attempt,
        }
    }

    /// Waits for a permit to open a session.
    async fn access(
        self,
        request: Request<'_>,
        conversation: Conversation<'_>,
        progress: &mut Progress,
    ) -> Access {
        let since = Instant::now();
        progress.waiting = Some(since);
        let acquired = self.pool.session(request).await;
        progress.waiting = None;
        progress.waited += since.elapsed();
        let (session, permit) = match acquired {
            Ok(Acquired::New(permit)) => return Access::Permit(permit),
            Ok(Acquired::Idle(session, permit)) => (session, permit),
            Err(refused) => return Access::Attempt(our_limit(refused)),
        };
        match Box::pin(conversation.resume(session, permit, progress)).await {
            Resumed::Answered(attempt) => Access::Attempt(attempt),
            Resumed::Stale(permit) => {
                progress.stage = Stage::Connect;
                Access::Permit(permit)
            }
        }
    }

    /// Connects to one address after the other, until there is a verdict.
    async fn dial(
        self,
        conversation: Conversation<'_>,
        mut addresses: Vec<SocketAddr>,
        mut permit: HostPermit,
        progress: &mut Progress,
    ) -> Attempt {
        let mut best = BestFailure::default();
        while !addresses.is_empty() {
            progress.stage = Stage::Connect;
            let identity = self.client.identity(permit.identity());
            let failure = match self.client.dialer().race(identity, &mut addresses).await {
                Ok((stream, peer)) => {
                    let holding = conversation.hold(stream, peer, permit, progress);
                    match Box::pin(holding).await {
                        Held { attempt: Attempt::Settled(verdict), .. } => {
                            return Attempt::Settled(verdict);
                        }
                        Held { attempt: Attempt::NextHost(failure), permit: Some(left) } => {
                            permit = left;
                            failure
                        }
                        Held { attempt: Attempt::NextHost(failure), permit: None } => {
                            best.add(failure);
                            break;
                        }
                    }
                }
                Err(unconnected) => {
                    if unconnected == Unconnected::Theirs {
                        self.client.memory.could_not_be_reached(conversation.host);
                    }
                    not_connected(unconnected)
                }
            };
            best.add(failure);
        }
        Attempt::NextHost(best.into_verdict())
    }

    /// A recipient that does not exist, when the caller wants to know whether the domain takes
    /// everything.
    fn control_recipient(self) -> Option<Address> {
        let domain = self.question.address.domain();
        if !self.question.details || self.client.memory.catch_all(domain).is_some() {
            return None;
        }
        let mut random = rand::rng();
        // 26¹⁶ ≈ 4 × 10²²: no mailbox is called so, and no filter knows it.
        let local_part: String =
            (0..16).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect();
        Address::parse(&format!("{local_part}@{domain}")).ok()
    }
}

/// Our own restraint: never the recipient's fault. A host that refused us is not gone around by way of
/// its backup; one that was out of order may be.
fn our_limit(refused: Refused) -> Attempt {
    let seconds = u32::try_from(refused.after.as_secs()).unwrap_or(u32::MAX).max(1);
    let verdict = Verdict {
        retry_after: Some(seconds),
        ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
    };
    if refused.blocked { Attempt::Settled(verdict) } else { Attempt::NextHost(verdict) }
}

fn no_usable_address() -> Verdict {
    Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
}

fn not_connected(unconnected: Unconnected) -> Verdict {
    let (status, reason) = match unconnected {
        Unconnected::Theirs => (Status::SmtpConnectError, Reason::ConnectionFailed),
        Unconnected::Ours => (Status::FatalException, Reason::OurLimit),
    };
    Verdict::new(status, reason, Stage::Connect)
}
