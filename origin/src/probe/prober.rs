//! From an address to a verdict: routes, the mail hosts in DNS, one after the other.

use std::{sync::Arc, time::Duration};

use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Traits, Verdict};
use tokio::time::{Instant, timeout_at};

use super::{
    address_traits::classify,
    attempt::Attempt,
    best_failure::BestFailure,
    client::{Client, HostSession},
    host::HostProbe,
    resolver::{Found, Resolver},
};
use crate::{
    clock::milliseconds,
    config::{Config, Route, Server},
    dns::Dns,
    mx::{self, MailHosts, NoMailHosts, guard::Guard},
    pool::{Limits, Pool},
    single_flight::SingleFlight,
    smtp::{Dialer, HeloIdentity, Tls},
};

/// How long a session lies idle: long enough for the next address of a list, short enough that servers
/// do not mind (RFC 5321 §4.5.3.2.7 lets them wait five minutes).
const MAX_IDLE: Duration = Duration::from_secs(30);

/// What all probes share.
pub struct Prober {
    config: Config,
    resolver: Resolver,
    client: Client,
    pool: Arc<Pool<HostSession>>,
    /// Identical probes in progress, without details and with them.
    flights: [SingleFlight<Verdict>; 2],
}

/// How far a probe has come, for the verdict of one that is cut off.
pub(super) struct Progress {
    pub stage: Stage,
    pub mx_host: Option<Arc<str>>,
    /// Since when no session is to be had: what the operator may be asked is used up by others.
    pub waiting: Option<Instant>,
    /// Time lost that way.
    pub waited: Duration,
    /// The verdict, while only the control recipient is waited for.
    pub settled: Option<Box<Verdict>>,
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub address: &'a Address,
    pub details: bool,
}

impl Prober {
    pub fn new(config: Config, dns: Dns, guard: Guard, dialer: Dialer, tls: Tls) -> Arc<Self> {
        let limits = Limits {
            sessions: config.operator_sessions,
            interval: config.session_interval,
            idle: MAX_IDLE,
            heeds_refusals: true,
        };
        let client = Client::new(&config, dialer, tls);
        let pool = Pool::new(limits, client.identities().len(), quit_in_background);
        let resolver = Resolver { dns, guard, smtp_port: config.smtp_port };
        Arc::new(Self { config, resolver, client, pool, flights: Default::default() })
    }

    pub const fn config(&self) -> &Config {
        &self.config
    }

    pub const fn dns(&self) -> &Dns {
        &self.resolver.dns
    }

    /// The names we go by.
    pub fn identities(&self) -> &[HeloIdentity] {
        self.client.identities()
    }

    /// Asks whether `address` can receive mail. Takes no longer than the budget. With `details`, the
    /// verdict has its evidence.
    pub async fn probe(self: &Arc<Self>, address: &Address, details: bool) -> Verdict {
        let started = Instant::now();
        // A probe with details must not be answered by one without.
        let [plain, detailed] = &self.flights;
        let flights = if details { detailed } else { plain };
        let flight = flights.join(address.normal(), || {
            let (prober, address) = (Arc::clone(self), address.clone());
            async move { prober.ask_within_budget(&address, details).await }
        });
        let mut verdict = flight.await;
        if details {
            let given = verdict.details.get_or_insert_with(|| Box::new(NO_DETAILS));
            given.duration_ms = milliseconds(started.elapsed());
            given.traits = classify(address);
        }
        verdict
    }

    async fn ask_within_budget(&self, address: &Address, details: bool) -> Verdict {
        let mut progress = Progress {
            stage: Stage::Dns,
            mx_host: None,
            waiting: None,
            waited: Duration::ZERO,
            settled: None,
        };
        let deadline = Instant::now() + self.config.budget;
        let asking = self.ask_domain(Question { address, details }, &mut progress);
        match timeout_at(deadline, asking).await {
            Ok(verdict) => verdict,
            Err(_) => self.cut_off(progress),
        }
    }

    /// The verdict of a probe whose budget has ended.
    fn cut_off(&self, progress: Progress) -> Verdict {
        if let Some(verdict) = progress.settled {
            return *verdict;
        }
        // A server that was left less than half the time is not to blame for it.
        let waited = progress.waited + progress.waiting.map_or(Duration::ZERO, |at| at.elapsed());
        let ours = progress.waiting.is_some() || waited >= self.config.budget / 2;
        let (status, reason) = if ours {
            (Status::FatalException, Reason::OurLimit)
        } else {
            (Status::SmtpTimeout, Reason::Timeout)
        };
        Verdict {
            mx_host: progress.mx_host.map(|host| host.to_string()),
            ..Verdict::new(status, reason, progress.stage)
        }
    }

    async fn ask_domain(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let domain = question.address.domain();
        match self.config.routes.of(domain) {
            Some(Route::Server(server)) => {
                return self.ask_route(server, question, progress).await;
            }
            Some(Route::NoMx) => return no_mail_hosts(NoMailHosts::NullMx),
            None => {}
        }
        match Box::pin(mx::mail_hosts(self.dns(), domain)).await {
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
        let found = Found::ByRoute(server.port);
        self.host_probe(question).ask(&server.host, found, progress).await.into_verdict()
    }

    async fn ask_hosts(
        &self,
        hosts: Vec<Arc<str>>,
        question: Question<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        let mut best = BestFailure::default();
        for host in self.client.memory.in_health_order(hosts) {
            progress.mx_host = Some(host.clone());
            match self.host_probe(question).ask(&host, Found::InDns, progress).await {
                Attempt::Settled(verdict) => return verdict,
                Attempt::NextHost(failure) => best.add(failure),
            }
        }
        best.into_verdict()
    }

    /// No MX record: the domain's own host, which no record says takes mail. So if it cannot be reached
    /// the answer is about the missing record (RFC 5321 §5.1).
    async fn ask_implicit(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let host = question.address.domain();
        match self.host_probe(question).ask(host, Found::InDns, progress).await {
            Attempt::Settled(verdict) => verdict,
            Attempt::NextHost(failure) if failure.reason == Reason::DnsFailure => dns_failure(),
            Attempt::NextHost(failure)
                if failure.stage <= Stage::Connect
                    && failure.status == Status::SmtpConnectError =>
            {
                Verdict::new(Status::NoMxRecords, Reason::NoMx, failure.stage)
            }
            Attempt::NextHost(failure) => failure,
        }
    }

    const fn host_probe<'a>(&'a self, question: Question<'a>) -> HostProbe<'a> {
        HostProbe { resolver: &self.resolver, client: &self.client, pool: &self.pool, question }
    }
}

const NO_DETAILS: Details = Details {
    smtp_text: None,
    catch_all: CatchAll::Unknown,
    tls: None,
    duration_ms: 0,
    traits: Traits {
        disposable: false,
        role_account: false,
        free_provider: false,
        suggested_domain: None,
    },
};

/// QUIT, not waited for, for a session that is not needed any more.
fn quit_in_background(session: HostSession) {
    tokio::spawn(session.quit());
}

fn no_mail_hosts(reason: NoMailHosts) -> Verdict {
    match reason {
        NoMailHosts::DomainNotFound => {
            Verdict::new(Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns)
        }
        NoMailHosts::NullMx => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        NoMailHosts::DnsFailure => dns_failure(),
    }
}

pub(super) fn dns_failure() -> Verdict {
    Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns)
}
