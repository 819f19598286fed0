//! One host asked: where it is, in which session, and what its failures mean.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use rcpt_shared::{Reason, Stage, Status, Verdict};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

use super::{
    attempt::Attempt,
    best_failure::BestFailure,
    client::{Client, HostSession},
    conversation::{Conversation, HostPermit, Resumed},
    prober::{Question, dns_failure, opted_out},
    progress::Progress,
    resolver::{DnsFailed, Found, Resolver},
};
use crate::{
    config::Config,
    pool::{Acquired, Pool, Refused, Request},
    smtp::Unconnected,
    verdict,
};

/// A banner is waited for no longer while there is another host or address to ask.
const BANNER: Duration = Duration::from_millis(3_500);
/// And a connection no less than this.
const SHORTEST: Duration = Duration::from_secs(1);
/// What a dialogue takes that is worth beginning.
const DIALOGUE: Duration = Duration::from_secs(1);
/// Idle sessions that may turn out to be stale, one after the other, before one is opened.
const MAX_STALE: usize = 3;

/// What asking a host takes.
#[derive(Clone, Copy)]
pub(super) struct HostProbe<'a> {
    pub resolver: &'a Resolver,
    pub client: &'a Arc<Client>,
    pub pool: &'a Arc<Pool<HostSession>>,
    pub config: &'a ArcSwap<Config>,
    pub question: Question<'a>,
    /// Hosts to ask after this one, and whether one of them is as good as this.
    pub more_hosts: usize,
    pub has_equal: bool,
    /// A host of a better preference was not asked.
    pub is_backup: bool,
}

impl HostProbe<'_> {
    /// Asks one host: in an idle session if there is one, else in a new one.
    ///
    /// Each step is boxed: a probe that a silent server holds has the memory of that step alone, and
    /// not of the largest of all.
    pub(super) async fn run(self, host: &str, found: Found, progress: &mut Progress) -> Attempt {
        let recipient = self.question.address;
        let named = |verdict| Verdict { mx_host: Some(host.to_owned()), ..verdict };
        if recipient.needs_smtputf8() && self.client.memory.offers(host).lacks_smtputf8 {
            return Attempt::Settled(named(verdict::smtputf8_unsupported().at(Stage::Ehlo, None)));
        }
        progress.stage = Stage::Dns;
        let resolving = progress.dns.clone();
        let addresses = resolving.during(Box::pin(self.resolver.addresses(host, found))).await;
        let identity = self.client.identity_of(recipient.domain());
        let reached = |address: &SocketAddr| self.client.identity(identity).reaches(address.ip());
        let addresses = match addresses {
            Ok(found) if found.is_empty() => {
                return Attempt::NextHost(named(no_usable_address()));
            }
            Ok(found) => found,
            Err(DnsFailed) => return Attempt::NextHost(named(dns_failure())),
        };
        if found == Found::InDns && self.opted_out(&addresses) {
            return Attempt::Settled(named(opted_out()));
        }
        let addresses: Vec<_> = addresses.into_iter().filter(reached).collect();
        if addresses.is_empty() {
            // It has addresses, of a family that is not dialled from here.
            return Attempt::NextHost(named(not_connected(Unconnected::Ours)));
        }
        progress.stage = Stage::Connect;
        let conversation = Conversation {
            client: self.client,
            host,
            recipient,
            by_route: found != Found::InDns,
            details: self.question.details,
            is_backup: self.is_backup,
        };
        match self.try_addresses(conversation, addresses, identity, found, progress).await {
            Attempt::Settled(verdict) => Attempt::Settled(named(verdict)),
            Attempt::NextHost(failure) => Attempt::NextHost(named(failure)),
            Attempt::AskAgain(verdict, _) | Attempt::AskEqual(verdict) if self.has_equal => {
                Attempt::NextHost(named(verdict))
            }
            Attempt::AskAgain(verdict, _) | Attempt::AskEqual(verdict) => {
                Attempt::Settled(named(verdict))
            }
        }
    }

    /// Whether one of the machines is not to be connected to.
    fn opted_out(self, addresses: &[SocketAddr]) -> bool {
        let config = self.config.load();
        addresses.iter().any(|address| config.opt_outs.include_address(address.ip()))
    }

    /// Asks at one address after the other, until there is a verdict.
    async fn try_addresses(
        self,
        conversation: Conversation<'_>,
        mut addresses: Vec<SocketAddr>,
        identity: usize,
        found: Found,
        progress: &mut Progress,
    ) -> Attempt {
        let host = conversation.host;
        // A route is named with its port, so that two of them are not one.
        let route = match found {
            Found::InDns => None,
            Found::ByRoute(port) => Some(format!("{host}:{port}")),
        };
        let (mut best, mut stale, mut asked_again) = (BestFailure::default(), 0, false);
        let mut afresh = false;
        while !addresses.is_empty() {
            let admitted = progress.admitted;
            let request = self.request(host, route.as_deref(), &addresses);
            let request = Request { admitted, afresh, ..request };
            let waiting = progress.waiting.clone();
            let acquired = waiting.during(Box::pin(self.pool.session(&request, identity))).await;
            progress.admitted |= acquired.is_ok();
            let attempt = match acquired {
                Ok(Acquired::Idle(session, permit)) => {
                    match Box::pin(conversation.resume(permit, session, progress)).await {
                        Resumed::Answered(attempt) => attempt,
                        unheard => {
                            stale += 1;
                            afresh = matches!(unheard, Resumed::Refused) || stale >= MAX_STALE;
                            progress.stage = Stage::Connect;
                            continue;
                        }
                    }
                }
                Ok(Acquired::New(permit)) => {
                    self.dial(conversation, &request, permit, progress).await
                }
                Err(refused) => {
                    best.add(our_limit(refused));
                    return Attempt::NextHost(best.into_verdict());
                }
            };
            match attempt {
                Attempt::NextHost(failure) => best.add(failure),
                Attempt::AskAgain(_, moment) if !asked_again && self.has_time(moment) => {
                    asked_again = true;
                    sleep(moment).await;
                    progress.stage = Stage::Connect;
                    continue;
                }
                settled => return settled,
            }
            let tried = std::mem::take(&mut progress.tried);
            if tried.is_empty() {
                break;
            }
            addresses.retain(|address| !tried.contains(&address.ip()));
        }
        Attempt::NextHost(best.into_verdict())
    }

    /// What the pool is asked for; a route has a name of its own there.
    fn request<'a>(
        &'a self,
        host: &'a str,
        route: Option<&'a str>,
        addresses: &'a [SocketAddr],
    ) -> Request<'a> {
        Request {
            host: route.unwrap_or(host),
            addresses,
            domain: self.question.address.domain(),
            tenant: self.question.tenant,
            account: self.question.account,
            class: self.question.class,
            is_route: route.is_some(),
            admitted: false,
            afresh: false,
            more_hosts: self.more_hosts > 0,
            deadline: self.question.deadline,
        }
    }

    fn has_time(self, moment: Duration) -> bool {
        Instant::now() + moment + DIALOGUE < self.question.deadline
    }

    /// Connects to the permit's address, or beside it to one of the other family, and holds the
    /// dialogue there.
    async fn dial(
        self,
        conversation: Conversation<'_>,
        request: &Request<'_>,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Attempt {
        progress.stage = Stage::Connect;
        let Some(first) = at(request.addresses, permit.address()) else {
            return Attempt::NextHost(no_usable_address());
        };
        let patience = self.patience(request.addresses.len());
        progress.tried.push(first.ip());
        match self.connect(request, permit, first, patience, progress).await {
            Ok((stream, peer, permit)) => {
                let banner = if self.more_hosts > 0 || request.addresses.len() > 1 {
                    BANNER.min(patience.max(SHORTEST))
                } else {
                    Duration::MAX
                };
                Box::pin(conversation.hold(stream, peer, banner, permit, progress)).await
            }
            Err(unconnected) => {
                if unconnected == Unconnected::Theirs {
                    self.client.memory.could_not_be_reached(conversation.host);
                }
                Attempt::NextHost(not_connected(unconnected))
            }
        }
    }

    async fn connect(
        self,
        request: &Request<'_>,
        mut permit: HostPermit,
        first: SocketAddr,
        patience: Duration,
        progress: &mut Progress,
    ) -> Result<(TcpStream, SocketAddr, HostPermit), Unconnected> {
        let identity = self.client.identity(permit.identity());
        let mut others = request.addresses.iter().copied();
        let second = others.find(|other| other.is_ipv4() != first.is_ipv4());
        let mut beside = None;
        let race = self.client.dialer().race(
            identity,
            first,
            || {
                let second = second?;
                if !permit.is_for_any_address() {
                    let number = permit.identity();
                    beside = Some(self.pool.try_session(request, number, second.ip())?);
                }
                progress.tried.push(second.ip());
                Some(second)
            },
            patience,
        );
        let (stream, peer) = Box::pin(race).await?;
        if let (true, Some(other)) = (Some(peer) == second, beside) {
            permit = other;
        }
        permit.connected_to(peer.ip());
        Ok((stream, peer, permit))
    }

    /// For one address: what is left of the budget, shared with what is still to be tried.
    fn patience(self, addresses: usize) -> Duration {
        let left = self.question.deadline.saturating_duration_since(Instant::now());
        let others = self.more_hosts + addresses.saturating_sub(1);
        let share = left / u32::try_from(others + 1).unwrap_or(u32::MAX);
        share.max(SHORTEST)
    }
}

/// The address to connect to: the permit's, else the first.
fn at(addresses: &[SocketAddr], chosen: Option<IpAddr>) -> Option<SocketAddr> {
    let fits = |address: &&SocketAddr| chosen.is_none_or(|ip| address.ip() == ip);
    addresses.iter().find(fits).or(addresses.first()).copied()
}

/// Our own restraint: never the recipient's fault.
fn our_limit(refused: Refused) -> Verdict {
    let seconds = u32::try_from(refused.after.as_secs()).unwrap_or(u32::MAX).max(1);
    Verdict {
        retry_after: Some(seconds),
        ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
    }
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
