//! From an address to a verdict: routes, the mail hosts in DNS, one after the other.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rcpt_shared::{Address, CatchAll, Details, Reason, Stage, Status, Verdict};
use tokio::time::{Instant, timeout_at};

use super::{
    address_traits::classify,
    attempt::Attempt,
    best_failure::BestFailure,
    client::{Client, HostSession, quit_now},
    host::HostProbe,
    limits::pool_settings,
    listed::within_own_budget,
    progress::Progress,
    resolver::{Found, Resolver},
    sandbox,
};
use crate::{
    clock::milliseconds,
    config::{Config, Route, Server},
    dns::{Dns, Mx},
    mx::{self, MailHosts, NoMailHosts, guard::Guard},
    pool::{Class, Pool},
    single_flight::SingleFlight,
    smtp::{Dialer, HeloIdentity, Tls},
    telemetry::port_check::PortCheck,
    verdict::assess,
};

/// Seconds after which a probe that found no session is worth repeating.
const RETRY_AFTER: u32 = 10;
/// What all probes share.
pub struct Prober {
    config: ArcSwap<Config>,
    pub(super) resolver: Resolver,
    client: Arc<Client>,
    pool: Arc<Pool<HostSession>>,
    /// Identical probes in progress.
    flights: SingleFlight<Verdict>,
}

/// How a probe is wanted.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// With its details.
    pub details: bool,
    /// Who asks; see [`crate::pool::Request::tenant`].
    pub tenant: Option<Arc<str>>,
    /// See [`crate::pool::Request::account`].
    pub account: Option<Arc<str>>,
    /// One of a list, which is to end by then; its budget begins when it has a session.
    pub batch_until: Option<Instant>,
}

impl Asking {
    const fn class(&self) -> Class {
        if self.batch_until.is_some() { Class::Batch } else { Class::Interactive }
    }
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub address: &'a Address,
    pub details: bool,
    pub tenant: Option<&'a str>,
    pub account: Option<&'a str>,
    pub class: Class,
    /// Until when it is worth waiting for a session.
    pub deadline: Instant,
}

impl Prober {
    pub fn new(
        config: Config,
        dns: Dns,
        guard: Guard,
        dialer: Dialer,
        tls: Tls,
        port_check: Arc<PortCheck>,
    ) -> Arc<Self> {
        let client = Client::new(&config, dialer, tls, port_check);
        let pool = Pool::new(pool_settings(&config, &client), quit_now);
        let resolver = Resolver { dns, guard, smtp_port: config.smtp_port };
        let config = ArcSwap::from_pointee(config);
        Arc::new(Self { config, resolver, client, pool, flights: SingleFlight::default() })
    }

    /// As it is now; a reload may replace it.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Asks by this configuration from now on; of what needs a restart it says the same as the one before.
    pub fn reload(&self, config: Config) {
        self.client.set_operators(config.operators.clone());
        self.pool.set_settings(pool_settings(&config, &self.client));
        self.config.store(Arc::new(config));
    }

    pub const fn dns(&self) -> &Dns {
        &self.resolver.dns
    }

    /// The names we go by.
    pub fn identities(&self) -> &[HeloIdentity] {
        self.client.identities()
    }

    /// What is asked of operators, and how we are received there.
    pub fn status(&self) -> crate::pool::Status {
        self.pool.status()
    }

    /// The source address that `address` is asked about from, as it is shown.
    pub fn source(&self, address: &Address, mx_host: Option<&str>) -> Arc<str> {
        let identity = self.client.identity_of(address.domain());
        self.pool.source_of(mx_host.unwrap_or_else(|| address.domain()), identity)
    }

    /// Asks whether `address` can receive mail. A single check takes no longer than the budget.
    pub async fn probe(self: &Arc<Self>, address: &Address, asking: &Asking) -> Verdict {
        let started = Instant::now();
        // One who wants details must not be answered by a probe without, nor a single check by one
        // that waits with a batch, nor a tenant by one that has spent its share.
        let tenant = asking.tenant.as_deref().unwrap_or_default();
        let kind = match (asking.details, asking.class()) {
            (false, Class::Interactive) => "single ",
            (true, Class::Interactive) => "single with details ",
            (false, Class::Batch) => "listed ",
            (true, Class::Batch) => "listed with details ",
        };
        let key = [kind, tenant, " ", address.normal()].concat();
        let flight = self.flights.join(&key, || {
            let (prober, address, asking) = (Arc::clone(self), address.clone(), asking.clone());
            async move { prober.ask_within_budget(&address, &asking).await }
        });
        let mut verdict = flight.await;
        let host = verdict.mx_host.as_deref();
        let operators = self.config().operators.clone();
        let row = host.and_then(|host| operators.of_host(host)).and_then(|id| operators.get(id));
        let operator = row.map(|row| &*row.name);
        let catch_all = verdict.details.as_ref().map_or(CatchAll::Unknown, |it| it.catch_all);
        let informative = row.and_then(|row| row.informative);
        let assessment = assess(&verdict, catch_all, informative);
        verdict.reason = assessment.reason;
        if asking.details {
            let given = verdict.details.get_or_insert_with(|| Box::new(Details::new(None, None)));
            given.duration_ms = milliseconds(started.elapsed());
            given.confidence = assessment.confidence;
            given.operator = operator.map(str::to_owned);
            given.verdict = assessment.verdict;
            given.traits = classify(address);
        }
        verdict
    }

    async fn ask_within_budget(&self, address: &Address, asking: &Asking) -> Verdict {
        let budget = self.config().budget;
        let started = Instant::now();
        let deadline = asking.batch_until.unwrap_or(started + budget);
        let question = Question {
            address,
            details: asking.details,
            tenant: asking.tenant.as_deref(),
            account: asking.account.as_deref(),
            class: asking.class(),
            deadline,
        };
        let mut progress = Progress::default();
        let (waiting, dns) = (progress.waiting.clone(), progress.dns.clone());
        let mut work = Box::pin(self.ask_domain(question, &mut progress));
        let done = match question.class {
            Class::Interactive => timeout_at(deadline, &mut work).await.ok(),
            Class::Batch => {
                let lost = || waiting.total() + dns.total();
                let is_waiting = || waiting.is_running();
                within_own_budget(&mut work, budget, deadline, lost, is_waiting).await
            }
        };
        if let Some(verdict) = done {
            return verdict;
        }
        drop(work);
        self.cut_off(progress)
    }

    /// The verdict of a probe whose budget has ended.
    fn cut_off(&self, progress: Progress) -> Verdict {
        if let Some(verdict) = progress.settled {
            return *verdict;
        }
        // A server that was left less than half the time is not to blame for it.
        let (waited, resolving) = (progress.waiting.total(), progress.dns.total());
        let half = self.config().budget / 2;
        let (status, reason) = if progress.waiting.is_running() || waited >= half {
            (Status::FatalException, Reason::OurLimit)
        } else if progress.dns.is_running() || waited + resolving >= half {
            (Status::FatalException, Reason::DnsFailure)
        } else {
            (Status::SmtpTimeout, Reason::Timeout)
        };
        Verdict {
            mx_host: progress.mx_host.map(|host| host.to_string()),
            retry_after: (reason == Reason::OurLimit).then_some(RETRY_AFTER),
            ..Verdict::new(status, reason, progress.stage)
        }
    }

    /// Says QUIT in every idle session.
    pub async fn close(&self) {
        for session in self.pool.drain() {
            session.quit().await;
        }
    }

    async fn ask_domain(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let domain = question.address.domain();
        let config = self.config();
        if config.opt_outs.include_domain(domain) {
            return opted_out();
        }
        match config.routes.of(domain) {
            Some(Route::Server(server)) => {
                return self.ask_route(server, question, progress).await;
            }
            Some(Route::NoMx) => return no_mail_hosts(NoMailHosts::NullMx),
            None => {}
        }
        if let Some(verdict) = sandbox::verdict_of(question, progress).await {
            return verdict;
        }
        let resolving = progress.dns.clone();
        match resolving.during(Box::pin(mx::mail_hosts(self.dns(), domain))).await {
            // A backup of one who opted out would say less than its owner's server, and is no way around.
            Ok(MailHosts::Explicit(hosts))
                if hosts.iter().any(|mx| config.opt_outs.include_host(&mx.exchange)) =>
            {
                opted_out()
            }
            Ok(MailHosts::Implicit) if config.opt_outs.include_host(domain) => opted_out(),
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
        match self.only_host(question).run(&server.host, found, progress).await {
            Attempt::Settled(verdict)
            | Attempt::NextHost(verdict)
            | Attempt::AskEqual(verdict)
            | Attempt::AskAgain(verdict, _) => verdict,
        }
    }

    async fn ask_hosts(
        &self,
        hosts: Vec<Mx>,
        question: Question<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        let preferred = hosts.iter().map(|host| host.preference).min();
        let hosts = self.client.memory.in_health_order(hosts);
        let mut best = BestFailure::default();
        for (position, Mx { preference, exchange }) in hosts.iter().enumerate() {
            let rest = hosts.get(position + 1..).unwrap_or_default();
            let host_probe = HostProbe {
                more_hosts: rest.len(),
                has_equal: rest.iter().any(|other| other.preference <= *preference),
                is_backup: Some(*preference) > preferred,
                ..self.only_host(question)
            };
            progress.mx_host = Some(exchange.clone());
            match host_probe.run(exchange, Found::InDns, progress).await {
                Attempt::Settled(verdict)
                | Attempt::AskEqual(verdict)
                | Attempt::AskAgain(verdict, _) => return verdict,
                Attempt::NextHost(failure) => best.add(failure),
            }
        }
        best.into_verdict()
    }

    /// No MX record: the domain's own host, which no record says takes mail. So if it cannot be reached
    /// the answer is about the missing record (RFC 5321 §5.1).
    async fn ask_implicit(&self, question: Question<'_>, progress: &mut Progress) -> Verdict {
        let host = question.address.domain();
        match self.only_host(question).run(host, Found::InDns, progress).await {
            Attempt::Settled(verdict)
            | Attempt::AskEqual(verdict)
            | Attempt::AskAgain(verdict, _) => verdict,
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

    fn only_host<'a>(&'a self, question: Question<'a>) -> HostProbe<'a> {
        HostProbe {
            resolver: &self.resolver,
            client: &self.client,
            pool: &self.pool,
            config: &self.config,
            question,
            more_hosts: 0,
            has_equal: false,
            is_backup: false,
        }
    }
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

/// The verdict on a domain whose operator does not want to be asked: no connection was made.
pub(super) fn opted_out() -> Verdict {
    Verdict::new(Status::BlockedByProvider, Reason::OptedOut, Stage::Dns)
}

pub(super) fn dns_failure() -> Verdict {
    Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns)
}
