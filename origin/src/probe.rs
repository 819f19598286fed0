//! One probe: from an address to a verdict, within one budget.

mod conversation;
mod host;
mod joined;
mod outcome;
mod text;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Verdict};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};

use crate::{
    config::{Config, Route, Server},
    dial::Dialer,
    dns::Dns,
    hosts::Hosts,
    identity::Identity,
    mx::{self, MailHosts, NoMailHosts, guard::Guard},
    pace::{Limits, Pace, operator},
    smtp::{Session, Tls},
    traits::traits,
    verdict::assess,
};
use joined::Joined;
use outcome::Telling;

/// Addresses tried of one host: two of each family, and no domain can make us knock on more than
/// ten hosts × four doors.
const MAX_ADDRESSES: usize = 4;
/// How long a session lies idle: long enough for the next address of a list, short enough that servers
/// do not mind (RFC 5321 §4.5.3.2.7 lets them wait five minutes).
const MAX_IDLE: Duration = Duration::from_secs(30);

/// What all probes share.
pub struct Prober {
    config: Config,
    identities: Vec<Identity>,
    /// Our name at whatever address the system chooses.
    nameless: Identity,
    dns: Dns,
    guard: Guard,
    dialer: Dialer,
    tls: Tls,
    pace: Arc<Pace<Session<TcpStream>>>,
    hosts: Hosts,
    joined: Joined,
    /// Whoever wants details must not be told by one who does not.
    joined_detailed: Joined,
}

/// How far a probe has come, for the verdict of one that is cut off.
struct Progress {
    stage: Stage,
    mx_host: Option<Arc<str>>,
    /// Since when no session is to be had: what the operator may be asked is used up by others.
    waiting: Option<Instant>,
    /// Time lost that way.
    waited: Duration,
    /// The verdict, while only the control recipient is waited for.
    settled: Option<Box<Verdict>>,
}

/// Where a host is, and how it is to be treated.
enum Door {
    /// Found in DNS.
    Found,
    /// Configured: neither DNS nor the address guard nor the pace has a say.
    Route(u16),
}

/// `Break` with a verdict, or `Continue` with the failure that sends us to the next host.
type Attempt = ControlFlow<Verdict, Verdict>;

impl Prober {
    #[must_use]
    pub fn new(config: Config, dns: Dns, guard: Guard, dialer: Dialer, tls: Tls) -> Self {
        let identities = Identity::all(&config.helo_name, &config.source_addresses);
        let nameless = Identity::unbound(&config.helo_name);
        let limits = Limits {
            sessions: config.operator_sessions,
            interval: config.session_interval,
            idle: MAX_IDLE,
            heeds_refusals: true,
        };
        let pace = Pace::new(limits, identities.len(), say_farewell);
        let (joined, joined_detailed) = (Joined::default(), Joined::default());
        Self {
            config,
            identities,
            nameless,
            dns,
            guard,
            dialer,
            tls,
            pace,
            hosts: Hosts::default(),
            joined,
            joined_detailed,
        }
    }

    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    #[must_use]
    pub const fn dns(&self) -> &Dns {
        &self.dns
    }

    /// The names we go by.
    #[must_use]
    pub fn identities(&self) -> &[Identity] {
        &self.identities
    }

    fn identity(&self, number: usize) -> &Identity {
        // The pace hands out numbers of identities; without any, there is the configured name.
        self.identities.get(number).unwrap_or(&self.nameless)
    }

    /// Asks whether `address` can receive mail. Takes no longer than the budget. With `details`, the
    /// verdict has its evidence.
    pub async fn probe(&self, address: &Address, details: bool) -> Verdict {
        let started = Instant::now();
        let deadline = started + self.config.budget;
        let joined = if details { &self.joined_detailed } else { &self.joined };
        let asking = Box::pin(self.ask(address, details, started, deadline));
        let mut verdict = joined.ask(address.normal(), asking).await;
        let operator = verdict.mx_host.as_deref().and_then(operator::known);
        let catch_all = verdict.details.as_ref().map_or(CatchAll::Unknown, |it| it.catch_all);
        let assessment = assess(&verdict, catch_all, operator);
        verdict.reason = assessment.reason;
        if details {
            let given = verdict.details.get_or_insert_with(|| Box::new(Details::new(None, None)));
            given.duration_ms = milliseconds(started.elapsed());
            given.confidence = assessment.confidence;
            given.operator = operator.map(str::to_owned);
            given.verdict = assessment.verdict;
            given.traits = traits(address);
        }
        verdict
    }

    /// `started` is when the probe did: until now it may have waited for an identical one that was left.
    async fn ask(
        &self,
        address: &Address,
        details: bool,
        started: Instant,
        deadline: Instant,
    ) -> Verdict {
        let mut progress = Progress {
            stage: Stage::Dns,
            mx_host: None,
            waiting: None,
            waited: started.elapsed(),
            settled: None,
        };
        let question = Question { address, details };
        match timeout_at(deadline, self.run(question, &mut progress)).await {
            Ok(verdict) => verdict,
            Err(_) if progress.settled.is_some() => progress
                .settled
                .map_or_else(|| no_mail_hosts(NoMailHosts::DnsFailure), |told| *told),
            Err(_) => {
                // A server that was left less than half the time is not to blame for it.
                let waited =
                    progress.waited + progress.waiting.map_or(Duration::ZERO, |at| at.elapsed());
                let (status, reason) =
                    if progress.waiting.is_some() || waited >= self.config.budget / 2 {
                        (Status::FatalException, Reason::OurLimit)
                    } else {
                        (Status::SmtpTimeout, Reason::Timeout)
                    };
                Verdict {
                    mx_host: progress.mx_host.map(|host| host.to_string()),
                    ..Verdict::new(status, reason, progress.stage)
                }
            }
        }
    }

    async fn run(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let domain = question.address.domain();
        match self.config.routes.of(domain) {
            Some(Route::Server(server)) => {
                return self.ask_route(server, question, progress).await;
            }
            Some(Route::NoMx) => return no_mail_hosts(NoMailHosts::NullMx),
            None => {}
        }
        match Box::pin(mx::mail_hosts(&self.dns, domain)).await {
            Ok(MailHosts::Explicit(hosts)) => self.ask_hosts(hosts, question, progress).await,
            Ok(MailHosts::Implicit) => self.ask_implicit(question, progress).await,
            Err(reason) => no_mail_hosts(reason),
        }
    }

    /// A route is trusted configuration.
    async fn ask_route(
        &self,
        server: &Server,
        question: Question<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        progress.mx_host = Some(Arc::from(server.host.as_str()));
        let door = Door::Route(server.port);
        let attempt = self.ask_host(&server.host, &door, question, progress).await;
        let (ControlFlow::Break(verdict) | ControlFlow::Continue(verdict)) = attempt;
        verdict
    }

    async fn ask_hosts(
        &self,
        hosts: Vec<Arc<str>>,
        question: Question<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        let mut telling = Telling::default();
        for host in self.hosts.in_health_order(hosts) {
            progress.mx_host = Some(host.clone());
            match self.ask_host(&host, &Door::Found, question, progress).await {
                ControlFlow::Break(verdict) => return verdict,
                ControlFlow::Continue(failure) => telling.add(failure),
            }
        }
        telling.into_verdict()
    }

    /// No MX record: the domain's own host, of which nobody said that it takes mail. So if it cannot
    /// be reached the answer is about the missing record (RFC 5321 §5.1).
    async fn ask_implicit(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let host = question.address.domain();
        match self.ask_host(host, &Door::Found, question, progress).await {
            ControlFlow::Break(verdict) => verdict,
            ControlFlow::Continue(failure) if failure.reason == Reason::DnsFailure => {
                dns_failure(None)
            }
            ControlFlow::Continue(failure)
                if failure.stage <= Stage::Connect
                    && failure.status == Status::SmtpConnectError =>
            {
                Verdict::new(Status::NoMxRecords, Reason::NoMx, failure.stage)
            }
            ControlFlow::Continue(failure) => failure,
        }
    }
}

/// What is asked.
#[derive(Clone, Copy)]
struct Question<'a> {
    address: &'a Address,
    details: bool,
}

/// QUIT, not waited for, for a session that nobody needs.
fn say_farewell(session: Session<TcpStream>) {
    tokio::spawn(session.quit());
}

fn no_mail_hosts(reason: NoMailHosts) -> Verdict {
    match reason {
        NoMailHosts::DomainNotFound => {
            Verdict::new(Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns)
        }
        NoMailHosts::NullMx => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        NoMailHosts::DnsFailure => dns_failure(None),
    }
}

fn dns_failure(mx_host: Option<String>) -> Verdict {
    Verdict { mx_host, ..Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns) }
}

/// Whole milliseconds, for logs.
#[must_use]
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
