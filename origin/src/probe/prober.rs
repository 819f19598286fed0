//! Gets the verdict for an address: asks its configured route, or the mail hosts from DNS one after the other.

use std::{net::IpAddr, pin::pin, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcpt_pool::{Asker, Class, Pool, Question, Wait};
use rcpt_shared::{Address, CatchAll, Details, Reason, Status, Verdict};
use rcpt_smtp::{HeloIdentity, Tls};
use rcpt_verdict::Wording;
use tokio::time::{Instant, timeout_at};

use super::{
    client::{Client, HostSession, pool_settings, quit_now},
    conversation::with_catch_all,
    facts::{route_of, route_to},
    host_probe::{Manner, Progress, Times, within_own_budget},
    outcome::{Outcome, looks_like_relaying, no_mail_hosts, not_asked, of_domain, opted_out},
    resolver::{AddressSource, Plan, Plans, Resolver},
    sandbox,
};

use crate::{
    config::{Config, Route, Server},
    dns::{
        Dns, Flight, NoAnswer, SingleFlight,
        mx::{self, MailHosts, NoMailHosts, guard::Guard},
    },
    lists::MailRoute,
    surroundings::Surroundings,
    telemetry::port_check::PortCheck,
};

/// Seconds after which a probe that found no session is worth repeating.
const RETRY_AFTER_S: u32 = 10;
const PROBE_TIME_MIN: Duration = Duration::from_secs(1);

pub(super) type Asked<'a> = (&'a Question, &'a Manner);

/// State shared by all probes.
pub struct Prober {
    pub(super) config: ArcSwap<Config>,
    pub(super) resolver: Resolver,
    pub(super) client: Arc<Client>,
    pub(super) pool: Arc<Pool<HostSession>>,
    pub(super) plans: Plans,
    flights: SingleFlight<Told>,
}

/// The verdict on an address of a list, and what may decide it if it stays open.
#[derive(Debug, Clone)]
pub struct Told {
    pub verdict: Verdict,
    /// The words of a refusal that the rules can't decide.
    pub undecided: Option<Wording>,
    /// The control recipient's result. Each caller that shares the probe waits for it within its own time.
    learning: Option<Flight<CatchAll>>,
}

impl Prober {
    pub fn new(
        config: Config,
        surroundings: Surroundings,
        guard: Guard,
        tls: Tls,
        port_check: Arc<PortCheck>,
    ) -> Arc<Self> {
        rcpt_verdict::load();
        let Surroundings { dialer, dns, unix_now } = surroundings;
        let keys = config.hash_key();
        let client = Client::new(&config, dialer, tls, port_check, unix_now.clone(), keys);
        let settings = pool_settings(&config, &client);
        let pool = Pool::new(settings, quit_now, move || unix_now(), keys);
        let resolver = Resolver { dns, guard, smtp_port: config.smtp_port };
        let config = ArcSwap::from_pointee(config);
        let (plans, flights) = (Plans::default(), SingleFlight::default());
        Arc::new(Self { config, resolver, client, pool, plans, flights })
    }

    /// The current configuration; a reload may replace it.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Applies this configuration; settings that need a restart must be unchanged.
    pub fn reload(&self, config: Config) {
        self.client.reload(&config);
        self.pool.set_settings(pool_settings(&config, &self.client));
        self.config.store(Arc::new(config));
        self.plans.forget_all();
    }

    pub const fn dns(&self) -> &Dns {
        &self.resolver.dns
    }

    /// The names and addresses in use.
    pub fn identities(&self) -> Vec<Arc<HeloIdentity>> {
        self.client.identities().in_use().cloned().collect()
    }

    /// The rates at operators, and how they treat us.
    pub fn status(&self) -> rcpt_pool::Status {
        self.pool.status()
    }

    /// The label of the source address from which the question is asked.
    pub fn source(&self, question: &Question, mx_host: Option<&str>) -> Arc<str> {
        let domain = question.address.domain();
        let identity = self.client.identities().of(domain, question.asker.class());
        self.pool.source_of(mx_host.unwrap_or(domain), identity)
    }

    /// Sets the Unix times since which source addresses are on a blocklist: batches then use these addresses like new
    /// ones.
    pub fn set_listed(&self, since_of: impl Fn(&HeloIdentity) -> Option<u64>) {
        self.pool.set_listed(self.client.identities().numbered(since_of));
    }

    /// A single check of `address`, without an account, that must end within the budget.
    pub fn question(&self, address: Address) -> Question {
        let wait = Wait::Interactive(Instant::now() + self.config().budget);
        Question { address, asker: Asker::default(), wait }
    }

    /// Asks whether the address can receive mail. A single check takes no longer than the budget; what is known at
    /// `awaited_until` is the answer.
    pub async fn probe(
        self: &Arc<Self>,
        question: &Question,
        awaited_until: Option<Instant>,
    ) -> Verdict {
        let budget = self.config().budget;
        let ends = question.wait.deadline();
        let manner = Manner { budget, invents: true, awaited_until, ends };
        let told = self.ask(question, manner).await;
        self.with_learnt(question, manner, told).await.verdict
    }

    /// Like [`Self::probe`], in a list's manner, and without [`Self::with_learnt`].
    pub async fn ask(self: &Arc<Self>, question: &Question, manner: Manner) -> Told {
        let started = Instant::now();
        let Question { address, asker, wait } = question;
        // Separate flights: a single check mustn't wait for a batch's probe, and another
        // account may have used up its share.
        let account = asker.account.as_deref().unwrap_or_default();
        let kind = match wait.class() {
            Class::Interactive => "single ",
            Class::Batch => "listed ",
        };
        let invents = if manner.invents { "inventing " } else { "" };
        let key = [kind, invents, account, " ", address.normal()].concat();
        let (mut told, is_first) = self.share(&key, question, manner).await;
        // A request that joined late had only what was left of the first request's budget.
        let deadline = started + self.config().budget;
        if !is_first && is_cut_off(&told.verdict) && Instant::now() + PROBE_TIME_MIN < deadline {
            (told, _) = self.share(&key, question, manner).await;
        }
        told
    }

    /// The assessed verdict, with what the control recipient shows in time.
    pub async fn with_learnt(&self, question: &Question, manner: Manner, mut told: Told) -> Told {
        if let Some(learning) = told.learning.take() {
            let until = manner.evidence_until(Instant::now());
            let found = timeout_at(until, learning).await.unwrap_or(CatchAll::Unknown);
            told.verdict = with_catch_all(told.verdict, found);
        }
        self.assess(&question.address, &mut told.verdict);
        told
    }

    /// The flag is true if the probe is new.
    async fn share(
        self: &Arc<Self>,
        key: &str,
        question: &Question,
        manner: Manner,
    ) -> (Told, bool) {
        let mut is_first = false;
        let flight = self.flights.join(key, || {
            is_first = true;
            let (prober, question) = (Arc::clone(self), question.clone());
            async move { prober.ask_within_budget(&question, &manner).await }
        });
        (flight.await, is_first)
    }

    async fn ask_within_budget(&self, question: &Question, manner: &Manner) -> Told {
        let mut progress = Progress::default();
        let times = progress.times.clone();
        let done = {
            let mut work = pin!(self.ask_domain(question, manner, &mut progress));
            match question.wait {
                Wait::Interactive(deadline) => timeout_at(deadline, work).await.ok(),
                Wait::InBatch(deadline) => {
                    let lost = || times.waiting.total() + times.dns.total();
                    let is_waiting = || times.waiting.is_running();
                    let budget = manner.budget;
                    Box::pin(within_own_budget(&mut work, budget, deadline, lost, is_waiting)).await
                }
            }
        };
        let route = progress.route.take();
        let undecided = progress.undecided.filter(|_| done.is_some());
        let learning = progress.learning.take().filter(|_| done.is_some());
        let mut verdict = done.unwrap_or_else(|| Self::cut_off(progress, manner));
        let domain = question.address.domain();
        let route = route.unwrap_or_default().after(&verdict);
        let facts = sandbox::facts_of(&question.address)
            .unwrap_or_else(|| self.domain_facts(domain, &route));
        let details = verdict.details.get_or_insert_with(|| Box::new(Details::new(None, None)));
        details.domain = Some(Box::new(facts));
        Told { verdict, undecided, learning }
    }

    fn cut_off(progress: Progress, Manner { budget, .. }: &Manner) -> Verdict {
        if let Some(verdict) = progress.settled {
            return *verdict;
        }
        // A server that had less than half of the time isn't blamed.
        let Times { waiting, dns } = &*progress.times;
        let (waited, resolving) = (waiting.total(), dns.total());
        let half = *budget / 2;
        let (status, reason) = if waiting.is_running() || waited >= half {
            (Status::FatalException, Reason::OurLimit)
        } else if dns.is_running() || waited + resolving >= half {
            (Status::FatalException, Reason::DnsFailure)
        } else {
            (Status::SmtpTimeout, Reason::Timeout)
        };
        Verdict {
            mx_host: progress.mx_host.map(|host| host.to_string()),
            retry_after: (reason == Reason::OurLimit).then_some(RETRY_AFTER_S),
            ..Verdict::new(status, reason, progress.stage)
        }
    }

    /// This machine's addresses, the configured ones, and those of our HELO names, which alone reveal the public
    /// address behind a NAT: we never connect to them.
    pub fn own_addresses(&self) -> Vec<IpAddr> {
        self.resolver.guard.own()
    }

    /// Looks up our addresses. If a lookup fails, the previous addresses are kept.
    pub async fn learn_own_addresses(self: Arc<Self>) {
        let (guard, config) = (&self.resolver.guard, self.config());
        let mut own: Vec<IpAddr> =
            self.identities().iter().flat_map(|identity| identity.addresses()).collect();
        let mut is_complete = true;
        match if_addrs::get_if_addrs() {
            Ok(interfaces) => own.extend(interfaces.iter().map(if_addrs::Interface::ip)),
            Err(_) => is_complete = false,
        }
        let identities = self.identities();
        let mut names: Vec<_> = identities.iter().map(|one| one.helo_name.as_str()).collect();
        names.push(&config.helo_name);
        names.sort_unstable();
        names.dedup();
        for name in names {
            match self.dns().addresses(name).await {
                Ok(found) => own.extend(found),
                Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {}
                Err(NoAnswer::Failed) => is_complete = false,
            }
        }
        if !is_complete {
            own.extend(guard.own());
        }
        own.sort_unstable();
        own.dedup();
        guard.set_own(own);
        self.plans.forget_all();
    }

    /// Ends every idle session with QUIT.
    pub async fn close(&self) {
        self.pool.drain();
    }

    async fn ask_domain(
        &self,
        question: &Question,
        manner: &Manner,
        progress: &mut Progress,
    ) -> Verdict {
        let domain = question.address.domain();
        let epoch = self.plans.epoch();
        if let Some(plan) = self.plans.of(domain) {
            return self.ask_by_plan(&plan, (question, manner), progress).await;
        }
        let config = self.config();
        if config.opt_outs.include_domain(domain) {
            return opted_out();
        }
        let route = config.routes.of(domain);
        if let Some(verdict) = sandbox::verdict_of(question, route.is_some(), progress).await {
            return verdict;
        }
        match route {
            Some(Route::Server(server)) => {
                progress.route = Some(MailRoute::configured(Some(&server.host)));
                return self.ask_route(server, (question, manner), progress).await;
            }
            Some(Route::NoMx) => {
                progress.route = Some(MailRoute::configured(None));
                return no_mail_hosts(NoMailHosts::NullMx);
            }
            None => {}
        }
        let times = progress.times.clone();
        let lookup = times.dns.during(Box::pin(mx::mail_hosts(self.dns(), domain))).await;
        progress.route = Some(route_of(&lookup));
        match lookup {
            // A backup host would know less than the host that opted out, and mustn't bypass the opt-out.
            Ok(MailHosts::Explicit(hosts))
                if hosts.iter().any(|mx| config.opt_outs.include_host(&mx.exchange)) =>
            {
                opted_out()
            }
            Ok(MailHosts::Implicit) if config.opt_outs.include_host(domain) => opted_out(),
            Ok(_) if looks_like_relaying(&question.address) => not_asked(),
            Ok(MailHosts::Explicit(hosts)) => {
                let plan = self.resolver.plan(domain, &hosts, &config.opt_outs, epoch);
                match plan.map(|plan| self.plans.keep(domain, plan)) {
                    Some(plan) => self.ask_by_plan(&plan, (question, manner), progress).await,
                    None => self.ask_hosts(&hosts, &[], (question, manner), progress).await,
                }
            }
            Ok(MailHosts::Implicit) => self.ask_implicit((question, manner), progress).await,
            Err(reason) => no_mail_hosts(reason),
        }
    }

    async fn ask_route(
        &self,
        server: &Server,
        (question, manner): Asked<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        progress.mx_host = Some(Arc::from(server.host.as_str()));
        let host_probe =
            self.only_host((question, manner), &server.host, AddressSource::ByRoute(server.port));
        match host_probe.run(progress).await {
            Outcome::NextHost(failure) => of_domain(failure),
            Outcome::Settled(verdict) | Outcome::EqualHost(verdict, _) => verdict,
        }
    }

    async fn ask_by_plan(
        &self,
        plan: &Plan,
        (question, manner): Asked<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        progress.route = Some(route_to(&plan.hosts));
        if looks_like_relaying(&question.address) {
            return not_asked();
        }
        self.ask_hosts(&plan.hosts, &plan.addresses, (question, manner), progress).await
    }
}

fn is_cut_off(verdict: &Verdict) -> bool {
    matches!(verdict.reason, Reason::Timeout | Reason::OurLimit | Reason::DnsFailure)
}
