//! The desk: a model of the Worker. The desk sends each question to its domain's origin, or to another while that
//! origin restarts. Unlike the Worker, the desk repeats no address; list owners do. The Worker's shipped code isn't
//! used.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use parking_lot::{Mutex, MutexGuard};
use rcpt_origin::{
    Config, State,
    config::Families,
    dns::Dns,
    http::{RequestId, ask_all, ask_one},
    surroundings::Surroundings,
};
use rcpt_pool::{Asker, Entries, HashKey, operators::Operators};
use rcpt_shared::{
    Address, BatchAnswer, BatchLine, BatchRequest, NotAsked, Reason, Status, Verdict,
};
use rcpt_smtp::{Dialer, HeloIdentity};
use tokio::time::{Instant, sleep};

use crate::{
    clock::MINUTE,
    internet::{Observations, SessionLimits, Uplink},
    plan::Plan,
    town::Town,
};

/// Our window for refused recipients, in seconds.
const WINDOW_S: u32 = 600;
/// Time for which a restarting origin accepts no questions.
const RESTART_TIME: Duration = Duration::from_secs(12);
const SECRETS: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";

/// An answer to a single check.
pub struct SingleAnswer {
    /// `None` if no origin was running, or the origin had no room.
    pub verdict: Option<Verdict>,
    pub took: Duration,
}

impl SingleAnswer {
    pub fn is_answered(&self) -> bool {
        self.verdict.as_ref().is_some_and(is_answered)
    }

    /// True if the server replied about the recipient.
    pub fn is_decided(&self) -> bool {
        let status = self.verdict.as_ref().map(|verdict| verdict.status);
        matches!(status, Some(Status::Accepted | Status::Refused))
    }
}

/// True for a verdict other than our own limit.
pub fn is_answered(verdict: &Verdict) -> bool {
    (verdict.status, verdict.reason) != (Status::FatalException, Reason::OurLimit)
}

pub struct Desk {
    plan: Plan,
    pub town: Arc<Town>,
    pub observations: Arc<Observations>,
    operators: Arc<Operators>,
    /// The origins by number; `None` while one restarts.
    origins: Mutex<Vec<Option<Arc<State>>>>,
    seeds: Mutex<u64>,
    numbers: AtomicU64,
    /// Addresses in lists by kind of domain: in total, and of dead mailboxes.
    pub listed: Mutex<BTreeMap<&'static str, (u64, u64)>>,
}

/// The built-in operators, with the plan's limit of refused recipients if it has one. If the plan isn't `limited`,
/// their limits are too high to be reached.
pub fn operators(plan: &Plan) -> Result<Operators> {
    let mistakes = |mistakes: Vec<String>| anyhow::anyhow!(mistakes.join("; "));
    let built_in = Operators::with("").map_err(mistakes)?;
    let mut rows = String::new();
    for row in built_in.rows() {
        if !plan.limited {
            rows += &format!(
                "[[operator]]\nname = \"{}\"\nsessions = 1000\nsession_interval_ms = 0\n\
                 recipients_per_minute = 1000000\nrefused_per_hour = 1000000\n",
                row.name
            );
        } else if let Some(refused) = plan.refused_per_hour {
            rows +=
                &format!("[[operator]]\nname = \"{}\"\nrefused_per_hour = {refused}\n", row.name);
        }
    }
    Operators::with(&rows).map_err(mistakes)
}

/// The limits that the survey checks; `None` if the plan isn't `limited`.
pub fn session_limits(plan: &Plan, config: &Config) -> Result<Option<SessionLimits>> {
    if !plan.limited {
        return Ok(None);
    }
    let mut limits = SessionLimits {
        machine: config.machine_sessions,
        network: config.network_sessions,
        ..SessionLimits::default()
    };
    for name in ["google", "microsoft", "yahoo", "mimecast", "proofpoint"] {
        let operators = operators(plan)?;
        let row = operators.rows().iter().find(|row| &*row.name == name);
        let sessions = row.and_then(|row| row.sessions).unwrap_or(config.operator_sessions);
        limits.operators.insert(name, sessions);
    }
    Ok(Some(limits))
}

/// A source address of an origin.
pub fn source(origin: usize, number: usize) -> IpAddr {
    IpAddr::from([203, 0, 113, (10 * (origin + 1) + number) as u8])
}

/// The source addresses that an origin has from the start.
pub fn sources(plan: &Plan, origin: usize) -> Vec<IpAddr> {
    (0..plan.sources_each).map(|number| source(origin, number)).collect()
}

pub fn config(plan: &Plan, origin: usize) -> Result<Config> {
    config_with(plan, origin, &sources(plan, origin))
}

fn config_with(plan: &Plan, origin: usize, sources: &[IpAddr]) -> Result<Config> {
    let sources: Vec<_> = sources.iter().map(|ip| format!("\"{ip}\"")).collect();
    let mut text = format!(
        "helo_name = \"probe{origin}.rcpt-world.net\"\nmail_from = \"probe@rcpt-world.net\"\n\
         ticket_secrets = \"{SECRETS}\"\nnameservers = [\"198.18.0.53\"]\nfamilies = [\"ipv4\"]\n\
         allow_networks = [\"198.18.0.0/15\"]\nsource_key = \"source key of the world\"\n\
         source_addresses = [{}]\n",
        sources.join(", ")
    );
    if !plan.limited {
        text += "operator_sessions = 1000\nmachine_sessions = 1000\nnetwork_sessions = 10000\n\
                 session_interval_ms = 0\nrecipients_per_minute = 1000000\nrefused_per_hour = 1000000\n";
    } else if let Some(refused) = plan.refused_per_hour {
        text += &format!("refused_per_hour = {refused}\n");
    }
    Config::parse(&text, &|_| None).map_err(|mistakes| anyhow::anyhow!("{mistakes}"))
}

impl Desk {
    pub fn open(
        plan: &Plan,
        town: Arc<Town>,
        observations: Arc<Observations>,
    ) -> Result<Arc<Self>> {
        let desk = Arc::new(Self {
            plan: plan.clone(),
            town,
            observations,
            operators: Arc::new(operators(plan)?),
            origins: Mutex::new(vec![None; plan.origins]),
            seeds: Mutex::new(plan.seed),
            numbers: AtomicU64::new(0),
            listed: Mutex::default(),
        });
        for origin in 0..plan.origins {
            desk.start(origin)?;
        }
        Ok(desk)
    }

    /// The origin starts without memory.
    fn start(&self, origin: usize) -> Result<()> {
        let config = self.config(origin, &sources(&self.plan, origin))?;
        let key = {
            let mut seed = self.seeds.lock();
            *seed = seed.wrapping_add(1_000_003);
            HashKey::new([*seed, self.plan.seed])
        };
        let uplink = Uplink {
            origin,
            machines: self.town.machines.clone(),
            observations: self.observations.clone(),
        };
        let clock = self.observations.clock;
        let families = Families { ipv4: true, ipv6: false };
        let nameserver = self.town.names.clone();
        let surroundings = Surroundings {
            dialer: Dialer::over(Arc::new(uplink), config.connect_timeout),
            dns: Dns::over(nameserver, config.dns_timeout, families, key),
            unix_now: Arc::new(move || clock.unix_now()),
        };
        let mut own = sources(&self.plan, origin);
        own.push(source(origin, self.plan.sources_each));
        let state = State::within(config, surroundings, own).context("an origin")?;
        if let Some(place) = self.origins().get_mut(origin) {
            *place = Some(state);
        }
        Ok(())
    }

    fn config(&self, origin: usize, sources: &[IpAddr]) -> Result<Config> {
        let mut config = config_with(&self.plan, origin, sources)?;
        config.operators = self.operators.clone();
        config.pace = self.plan.pace;
        if !self.plan.limited {
            config.pace.machine_refused_lately = usize::MAX;
        }
        Ok(config)
    }

    /// Adds a source address to an origin by a reload. A restart removes the address again.
    pub fn add_source(&self, origin: usize) -> Result<()> {
        let mut sources = sources(&self.plan, origin);
        sources.push(source(origin, self.plan.sources_each));
        if let Some(state) = self.origin(origin) {
            state.prober.reload(self.config(origin, &sources)?);
        }
        Ok(())
    }

    /// Makes the origin's added source address count as new since this Unix time.
    pub fn set_new_since(&self, origin: usize, since: u64) {
        let added = source(origin, self.plan.sources_each);
        if let Some(state) = self.origin(origin) {
            let is_added = |identity: &HeloIdentity| identity.addresses().any(|ip| ip == added);
            state.prober.set_listed(|identity| is_added(identity).then_some(since));
        }
    }

    /// Stops an origin as the service manager does, and starts it again. It has forgotten what it knew.
    pub async fn restart(&self, origin: usize) -> Result<()> {
        let stopped = self.origins().get_mut(origin).and_then(Option::take);
        sleep(RESTART_TIME).await;
        if let Some(state) = stopped {
            state.prober.close().await;
        }
        self.start(origin)
    }

    pub fn origin(&self, number: usize) -> Option<Arc<State>> {
        self.origins().get(number).cloned().flatten()
    }

    fn origins(&self) -> MutexGuard<'_, Vec<Option<Arc<State>>>> {
        self.origins.lock()
    }

    /// The next running origin serves a domain whose own origin is down.
    fn origin_of(&self, domain: &str) -> Option<Arc<State>> {
        let origins = self.origins();
        let hash = HashKey::new([1, 2]).hash_one(domain);
        let first = usize::try_from(hash % origins.len().max(1) as u64).unwrap_or_default();
        let in_order = origins.iter().cycle().skip(first).take(origins.len());
        in_order.flatten().next().cloned()
    }

    fn id(&self) -> Option<RequestId> {
        RequestId::parse(&format!("w{}", self.numbers.fetch_add(1, Ordering::Relaxed)))
    }

    /// Checks one address and waits for the answer.
    pub async fn single(&self, asker: &Asker, address: &Address) -> SingleAnswer {
        let started = Instant::now();
        let (Some(state), Some(id)) = (self.origin_of(address.domain()), self.id()) else {
            return SingleAnswer { verdict: None, took: Duration::ZERO };
        };
        let question = state.prober.question(address.clone());
        let question = rcpt_pool::Question { asker: asker.clone(), ..question };
        let verdict = ask_one(&state, (&question, None), &id).await.ok();
        if let Some(verdict) = &verdict {
            self.note(address, verdict);
        }
        SingleAnswer { verdict, took: started.elapsed() }
    }

    /// Checks many addresses, each at its domain's origin. Returns the verdict of each, or the seconds after which to
    /// ask again.
    pub async fn batch(
        &self,
        asker: &Asker,
        addresses: &[Address],
    ) -> Vec<(usize, Result<Verdict, u32>)> {
        let mut by_origin: BTreeMap<u64, (Arc<State>, Vec<usize>)> = BTreeMap::new();
        let mut answers = Vec::new();
        for (index, address) in addresses.iter().enumerate() {
            match self.origin_of(address.domain()) {
                Some(state) => {
                    let hash = HashKey::new([1, 2]).hash_one(address.domain());
                    let place = hash % self.plan.origins.max(1) as u64;
                    by_origin.entry(place).or_insert_with(|| (state, Vec::new())).1.push(index);
                }
                None => answers.push((index, Err(60))),
            }
        }
        let parts = by_origin.into_values().map(|(state, indices)| async move {
            let given = |index: &usize| addresses.get(*index).cloned();
            let part: Vec<Address> = indices.iter().filter_map(given).collect();
            let lines = self.part(state, asker, part).await;
            let whole = |(index, line)| Some((*indices.get(index)?, line));
            lines.into_iter().filter_map(whole).collect::<Vec<_>>()
        });
        answers.extend(futures_util::future::join_all(parts).await.into_iter().flatten());
        for (index, answer) in &answers {
            if let (Ok(verdict), Some(address)) = (answer, addresses.get(*index)) {
                self.note(address, verdict);
            }
        }
        answers
    }

    async fn part(
        &self,
        state: Arc<State>,
        asker: &Asker,
        addresses: Vec<Address>,
    ) -> Vec<(usize, Result<Verdict, u32>)> {
        let count = addresses.len();
        let batch = BatchRequest { addresses };
        let lines =
            self.id().and_then(|id| ask_all(state, batch, (MINUTE, None), asker.clone(), id).ok());
        let Some(mut lines) = lines else {
            return (0..count).map(|index| (index, Err(5))).collect();
        };
        let mut answers = Vec::with_capacity(count);
        while let Some(line) = lines.recv().await {
            match line {
                BatchLine::Answer(BatchAnswer { index, verdict }) => {
                    answers.push((index, Ok(verdict)));
                }
                BatchLine::NotAsked(NotAsked { index, not_asked_retry_after }) => {
                    // The Worker comes back when the first line's turn is, not the last one's.
                    answers.push((index, Err(not_asked_retry_after.min(WINDOW_S))));
                }
                BatchLine::End(_) => {}
            }
        }
        answers
    }

    fn note(&self, address: &Address, verdict: &Verdict) {
        let Observations { clock, trace, journal, .. } = &*self.observations;
        let text = format!(
            "{} {} {} {:?}",
            verdict.status.as_str(),
            verdict.reason.as_str(),
            verdict.stage.as_str(),
            verdict.smtp_code
        );
        trace.verdict(clock.now(), address.normal(), &text);
        journal.judge(address.normal(), verdict);
    }

    /// Ends all idle sessions. Returns the pools' remaining sessions in use, idle sessions and waiters.
    pub async fn close(&self) -> (usize, usize, usize) {
        let mut left = (0, 0, 0);
        for number in 0..self.plan.origins {
            let Some(state) = self.origin(number) else { continue };
            state.prober.close().await;
            for site in state.prober.status().operators {
                left.0 += site.sessions;
                left.1 += site.idle;
                left.2 += site.waiting;
            }
        }
        left
    }

    /// Entries in memory of each origin's pool.
    pub fn entries(&self) -> Vec<Entries> {
        let all = (0..self.plan.origins).filter_map(|number| self.origin(number));
        all.map(|state| state.prober.status().entries).collect()
    }

    /// Number of times that servers refused us, as the pools counted.
    pub fn refusals_of_us(&self) -> u64 {
        let all = (0..self.plan.origins).filter_map(|number| self.origin(number));
        all.flat_map(|state| state.prober.status().operators)
            .map(|site| site.totals.refusals_of_us)
            .sum()
    }

    /// Number of sessions in the pools' status, in use and idle.
    pub fn sessions_in_status(&self) -> usize {
        let all = (0..self.plan.origins).filter_map(|number| self.origin(number));
        all.flat_map(|state| state.prober.status().operators)
            .map(|site| site.sessions + site.idle)
            .sum()
    }
}
