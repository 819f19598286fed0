//! The pool of sessions with mail servers, shared by all probes: how many at once, how fast, and whose
//! turn it is (docs/architecture.md, "Neighbours").
//!
//! Nothing that one recipient's domain, one customer or one machine says shuts anything for others:
//! there are rates that fall on evidence from many parties ([`rate`]), gates before single domains and
//! addresses ([`gates`]), and queues that are fair among tenants ([`fair_queue`]). Limits are shared by
//! all that leads to one operator, or else to one network and machine ([`site`]).
//!
//! What is kept, at most: [`MAX_IDLE`] idle sessions of about 2 KiB each, one waiting entry for each
//! probe in progress, [`MAX_SITES`] sites of about 1 KiB, and twice ten thousand gates of 64 bytes.

mod debts;
mod fair_queue;
mod gates;
mod meter;
pub mod operators;
mod permit;
mod quota;
mod rate;
mod request;
mod site;
mod status;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use moka::sync::Cache;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, sleep_until},
};

use gates::Gates;
pub use meter::{Limits, Totals};
use operators::{OperatorId, Operators};
pub use permit::{Acquired, Permit};
use permit::{Party, Queued};
use rate::Change;
pub use request::{Cause, Class, Refusal, Refused, Request, Signal};
use site::{Assigned, MeterKey, Site, SiteKey, Waiter, Want};
pub use status::{SiteStatus, Status};

/// Idle sessions kept in all, and with one site.
const MAX_IDLE: usize = 1_024;
const MAX_IDLE_SITE: usize = 64;
/// Sites remembered after the last session with them.
const MAX_SITES: usize = 10_000;
/// Addresses that are known to be an operator's, and for how long.
const MAX_ADDRESSES: u64 = 20_000;
const ADDRESS_KEPT: Duration = Duration::from_secs(3_600);
/// How often idle sessions are looked through: each lives at most this much longer than it may.
const SWEEP: Duration = Duration::from_secs(1);
/// How long a domain's and an address's last refusal is remembered.
const DOMAIN_MEMORY: Duration = Duration::from_secs(600);
const ADDRESS_MEMORY: Duration = Duration::from_secs(300);
/// What a dialogue takes that is worth beginning.
const DIALOGUE: Duration = Duration::from_secs(1);
/// After so long at the floor an operator's domains go to the next source address, once in so long.
const MOVE_AFTER: Duration = Duration::from_secs(3_600);
const MOVE_KEPT: Duration = Duration::from_secs(24 * 3_600);

/// A domain or tenant, by a keyed hash: neither is kept by name.
type Key = u64;

/// The rules of the pool.
#[derive(Debug, Clone)]
pub struct Settings {
    pub operators: Arc<Operators>,
    /// For an operator whose row says nothing else.
    pub operator: Limits,
    /// For one machine that is no operator's.
    pub machine: Limits,
    /// Sessions at once with the machines of one /24 or /64.
    pub network_sessions: usize,
    /// How long a session may lie idle.
    pub max_idle: Duration,
    /// Who may wait for one site.
    pub max_waiting: usize,
    /// The part of waiters and of refused recipients that one tenant may have.
    pub tenant_share: f64,
    /// Our source addresses, as they are shown.
    pub sources: Vec<Arc<str>>,
}

/// `S` is the session, so that the rules can be tested without one.
pub struct Pool<S> {
    settings: Settings,
    close: fn(S),
    keys: RandomState,
    state: Mutex<State<S>>,
    idle: AtomicUsize,
    /// Whose names led to an address: other names that lead there count for it too.
    behind: Cache<IpAddr, OperatorId>,
    sweeping: Mutex<bool>,
    others: OtherTotals,
}

struct State<S> {
    sites: HashMap<SiteKey, Site<S>>,
    domains: Gates<Key>,
    addresses: Gates<IpAddr>,
    /// Source addresses that an operator's domains have moved from: to which, and when.
    moves: HashMap<(OperatorId, usize), (usize, Instant)>,
}

/// [`Totals`] of all machines that are no operator's: what is known of one of them is soon forgotten.
#[derive(Default)]
struct OtherTotals {
    sessions: AtomicU64,
    recipients: AtomicU64,
    refused: AtomicU64,
    refusals_of_us: AtomicU64,
}

/// When and where a request may go on.
struct Passage {
    at: Instant,
    address: Option<IpAddr>,
}

impl Refused {
    const GONE: Self = Self { after: Duration::ZERO, cause: Cause::Crowded };
}

impl<S: Send + 'static> Pool<S> {
    /// `close` ends a session that is not needed any more; it must not block.
    pub fn new(settings: Settings, close: fn(S)) -> Arc<Self> {
        let state = State {
            sites: HashMap::new(),
            domains: Gates::new(DOMAIN_MEMORY),
            addresses: Gates::new(ADDRESS_MEMORY),
            moves: HashMap::new(),
        };
        let behind = Cache::builder().max_capacity(MAX_ADDRESSES).time_to_live(ADDRESS_KEPT);
        Arc::new(Self {
            settings,
            close,
            keys: RandomState::new(),
            state: Mutex::new(state),
            idle: AtomicUsize::new(0),
            behind: behind.build(),
            sweeping: Mutex::new(false),
            others: OtherTotals::default(),
        })
    }

    /// A session with the host, or leave to open one under `identity`; waits for its turn.
    ///
    /// # Errors
    /// [`Refused`] where waiting is not worth it.
    pub async fn session(
        self: &Arc<Self>,
        request: &Request<'_>,
        identity: usize,
    ) -> Result<Acquired<S>, Refused> {
        let party = self.party(request);
        let (identity, operator) = self.identity_for(request, identity);
        let passage = self.pass_domain_gate(request, party)?;
        sleep_until(passage).await;
        let (site, meter) = self.site_of(request, operator, identity);
        self.check_refusals(request, party, &site, meter)?;
        sleep_until(self.pass_debts(request, party, &site, meter)?).await;
        if let Some(acquired) = self.idle_session(request, party, identity, &site, meter) {
            return Ok(acquired);
        }
        let Passage { at, address } = self.pass_address_gate(request)?;
        sleep_until(at).await;
        let meter = meter.and(address);
        let site = match site {
            SiteKey::Network(_) => address.map_or(site, |ip| SiteKey::Network(network(ip))),
            other => other,
        };
        let blank = self.blank(request, party, identity, &site, meter, address);
        self.enter(request, blank, operator).await
    }

    /// Leave to open a session with one more address at once, if there is room: for the second family
    /// of a race.
    pub fn try_session(
        self: &Arc<Self>,
        request: &Request<'_>,
        identity: usize,
        address: IpAddr,
    ) -> Option<Permit<S>> {
        let now = Instant::now();
        let site = SiteKey::Network(network(address));
        let mut evicted = Vec::new();
        let mut state = self.lock();
        if !state.addresses.wait(address, now).is_zero() {
            return None;
        }
        let held = self.site(&mut state, &site, None);
        let class = request.class;
        let want = Want { host: request.host, identity, meter: Some(address), class };
        let assigned = held.serve_newcomer(want, now, &mut evicted);
        drop(state);
        self.close_all(evicted);
        let meter = Some(address);
        let party = self.party(request);
        let blank = self.blank(request, party, identity, &site, meter, Some(address));
        match blank.granted(assigned?) {
            Acquired::New(permit) => Some(permit),
            Acquired::Idle(session, permit) => {
                permit.keep(session);
                None
            }
        }
    }

    fn party(&self, request: &Request<'_>) -> Party {
        Party {
            tenant: self.keys.hash_one(request.tenant),
            domain: self.keys.hash_one(request.domain),
            is_consumer: self.settings.operators.is_consumer_domain(request.domain),
        }
    }

    /// A permit that counts nothing yet.
    fn blank(
        self: &Arc<Self>,
        request: &Request<'_>,
        party: Party,
        identity: usize,
        site: &SiteKey,
        meter: MeterKey,
        address: Option<IpAddr>,
    ) -> Permit<S> {
        Permit {
            pool: Arc::clone(self),
            site: site.clone(),
            meter,
            host: Arc::from(request.host),
            identity,
            address,
            party,
            released: true,
        }
    }

    /// The identity to ask under, and the operator of the host. An operator's domains leave a source
    /// address that has been at the floor for an hour.
    fn identity_for(&self, request: &Request<'_>, identity: usize) -> (usize, Option<OperatorId>) {
        if request.is_route {
            return (identity, None);
        }
        let named = self.settings.operators.of_host(request.host);
        if let Some(operator) = named {
            for address in request.addresses.iter().map(std::net::SocketAddr::ip) {
                if !self.behind.contains_key(&address) {
                    self.behind.insert(address, operator);
                }
            }
        }
        let by_address =
            || request.addresses.iter().find_map(|address| self.behind.get(&address.ip()));
        let Some(operator) = named.or_else(by_address) else { return (identity, None) };
        (self.lock().moved(operator, identity, self.settings.sources.len()), Some(operator))
    }

    fn pass_domain_gate(&self, request: &Request<'_>, party: Party) -> Result<Instant, Refused> {
        let now = Instant::now();
        if request.is_route || request.admitted || party.is_consumer {
            return Ok(now);
        }
        let domains = &mut self.lock().domains;
        let (wait, away) = (domains.wait(party.domain, now), domains.away(party.domain, now));
        let after = if request.class == Class::Batch { away } else { wait };
        let stays_away = request.class == Class::Batch && !away.is_zero();
        if stays_away || !is_worth(wait, now, request) {
            return Err(Refused { after, cause: Cause::Domain });
        }
        Ok(domains.pass(party.domain, now))
    }

    /// The first address that stands open; or the one that does soonest, if that is worth waiting for.
    fn pass_address_gate(&self, request: &Request<'_>) -> Result<Passage, Refused> {
        let now = Instant::now();
        if request.is_route {
            return Ok(Passage { at: now, address: None });
        }
        let gates = &mut self.lock().addresses;
        let addresses = request.addresses.iter().map(std::net::SocketAddr::ip);
        let Some(address) = addresses.min_by_key(|ip| gates.wait(*ip, now)) else {
            return Ok(Passage { at: now, address: None });
        };
        let wait = gates.wait(address, now);
        if !wait.is_zero() && (request.more_hosts || !is_worth(wait, now, request)) {
            return Err(Refused { after: wait, cause: Cause::Address });
        }
        Ok(Passage { at: gates.pass(address, now), address: Some(address) })
    }

    fn check_refusals(
        &self,
        request: &Request<'_>,
        party: Party,
        site: &SiteKey,
        meter: MeterKey,
    ) -> Result<(), Refused> {
        let mut state = self.lock();
        let Some(site) = state.sites.get_mut(site) else { return Ok(()) };
        let refusals = &mut site.meter(meter).refusals;
        let share = match request.tenant {
            Some(_) => self.share(refusals.per_hour()),
            None => refusals.per_hour(),
        };
        match refusals.must_wait(party.tenant, share, request.class, Instant::now()) {
            Some(after) => Err(Refused { after, cause: Cause::Refusals }),
            None => Ok(()),
        }
    }

    /// When a tenant whose domains have cost others their sessions may ask about one more.
    fn pass_debts(
        &self,
        request: &Request<'_>,
        party: Party,
        site: &SiteKey,
        meter: MeterKey,
    ) -> Result<Instant, Refused> {
        let now = Instant::now();
        let mut state = self.lock();
        let Some(site) = state.sites.get_mut(site).filter(|_| request.tenant.is_some()) else {
            return Ok(now);
        };
        let meter = site.meter(meter);
        if request.admitted || meter.rate.is_proven(party.tenant, party.domain, now) {
            return Ok(now);
        }
        let at = meter.debts.pass(party.tenant, now);
        let wait = at.saturating_duration_since(now);
        if is_worth(wait, now, request) {
            Ok(at)
        } else {
            Err(Refused { after: wait, cause: Cause::Domain })
        }
    }

    /// One tenant's part of `all`, at least one.
    fn share(&self, all: usize) -> usize {
        ((all as f64 * self.settings.tenant_share) as usize).max(1)
    }

    fn site_of(
        &self,
        request: &Request<'_>,
        operator: Option<OperatorId>,
        identity: usize,
    ) -> (SiteKey, MeterKey) {
        let first = request.addresses.first().map(std::net::SocketAddr::ip);
        match (operator, first) {
            (Some(operator), _) => (SiteKey::Operator(operator, identity), None),
            (None, Some(ip)) if !request.is_route => (SiteKey::Network(network(ip)), Some(ip)),
            _ => (SiteKey::Route(Arc::from(request.host)), None),
        }
    }

    /// An idle session with the host, if there is one and none wait.
    fn idle_session(
        self: &Arc<Self>,
        request: &Request<'_>,
        party: Party,
        identity: usize,
        site: &SiteKey,
        meter: MeterKey,
    ) -> Option<Acquired<S>> {
        let mut state = self.lock();
        let held = state.sites.get_mut(site)?;
        let want = Want { host: request.host, identity, meter, class: request.class };
        let idle = held.take_idle(want, Instant::now())?;
        drop(state);
        Some(self.blank(request, party, identity, site, meter, None).granted(Assigned::Idle(idle)))
    }

    async fn enter(
        self: &Arc<Self>,
        request: &Request<'_>,
        blank: Permit<S>,
        operator: Option<OperatorId>,
    ) -> Result<Acquired<S>, Refused> {
        let mut evicted = Vec::new();
        let now = Instant::now();
        let want = Want {
            host: request.host,
            identity: blank.identity,
            meter: blank.meter,
            class: request.class,
        };
        let site_key = blank.site.clone();
        let queued = {
            let mut state = self.lock();
            let site = self.site(&mut state, &site_key, operator);
            if let Some(assigned) = site.serve_newcomer(want, now, &mut evicted) {
                drop(state);
                self.close_all(evicted);
                return Ok(blank.granted(assigned));
            }
            let (answer, receiver) = oneshot::channel();
            let waiter = Waiter {
                host: blank.host.clone(),
                identity: blank.identity,
                meter: blank.meter,
                class: request.class,
                answer,
            };
            let most = self.settings.max_waiting;
            let most_of_tenant =
                if request.tenant.is_some() { self.share(most) } else { usize::MAX };
            let party = (blank.party.tenant, blank.party.domain);
            site.wait(party, waiter, (most, most_of_tenant));
            Queued { answer: receiver, blank }
        };
        self.pump(&site_key);
        self.sweep_soon();
        queued.wait().await
    }

    fn site<'s>(
        &self,
        state: &'s mut State<S>,
        key: &SiteKey,
        operator: Option<OperatorId>,
    ) -> &'s mut Site<S> {
        state.sites.entry(key.clone()).or_insert_with(|| {
            let max_idle = self.settings.max_idle;
            match key {
                SiteKey::Operator(..) => {
                    Site::new(self.operator_limits(operator), usize::MAX, max_idle)
                }
                SiteKey::Network(_) => {
                    Site::new(self.settings.machine, self.settings.network_sessions, max_idle)
                }
                SiteKey::Route(_) => Site::new(Limits::NONE, usize::MAX, max_idle),
            }
        })
    }

    fn operator_limits(&self, operator: Option<OperatorId>) -> Limits {
        let default = self.settings.operator;
        let Some(row) = operator.and_then(|id| self.settings.operators.get(id)) else {
            return default;
        };
        Limits {
            sessions: row.sessions.unwrap_or(default.sessions),
            interval: row.session_interval.unwrap_or(default.interval),
            recipients_per_minute: row
                .recipients_per_minute
                .unwrap_or(default.recipients_per_minute),
            refused_per_hour: row.refused_per_hour.unwrap_or(default.refused_per_hour),
        }
    }

    /// Takes note of how the holder of a permit was received.
    fn note(&self, permit: &Permit<S>, signal: Signal<'_>) {
        if matches!(permit.site, SiteKey::Route(_)) {
            return;
        }
        let now = Instant::now();
        let Party { tenant, domain, is_consumer } = permit.party;
        let mut state = self.lock();
        let State { sites, domains, addresses, .. } = &mut *state;
        let Some(site) = sites.get_mut(&permit.site) else { return };
        let meter = site.meter(permit.meter);
        let others = u64::from(matches!(permit.site, SiteKey::Network(_)));
        let change = match signal {
            Signal::Answered { refused } => {
                domains.answered(domain);
                if let Some(address) = permit.address {
                    addresses.answered(address);
                }
                if refused {
                    meter.totals.refused += 1;
                    self.others.refused.fetch_add(others, Ordering::Relaxed);
                    meter.refusals.count(tenant, now);
                }
                meter.rate.answered(tenant, domain, now)
            }
            Signal::Refused(refusal) => {
                meter.totals.refusals_of_us += 1;
                self.others.refusals_of_us.fetch_add(others, Ordering::Relaxed);
                let Refusal { before_rcpt, closing, hint, .. } = refusal;
                if before_rcpt
                    && closing
                    && let Some(address) = permit.address
                {
                    addresses.refused(address, hint, now);
                }
                match (is_consumer, before_rcpt || closing) {
                    (true, _) => {}
                    (false, true) => domains.refused(domain, hint, now),
                    (false, false) => domains.doubted(domain, hint, now),
                }
                if closing && !before_rcpt {
                    meter.debts.closed(tenant, now);
                }
                match (refusal.about_our_address, before_rcpt, permit.address) {
                    (false, ..) => None,
                    (true, false, _) => {
                        meter.rate.refused_at_rcpt(tenant, domain, refusal.words, now)
                    }
                    (true, true, None) => None,
                    (true, true, Some(address)) => {
                        meter.rate.refused_by_machine(address, domain, refusal.words, now)
                    }
                }
            }
        };
        if change == Some(Change::Raised) {
            meter.rate_raised(now);
        }
        let interval = meter.rate.interval();
        let words = meter.rate.lowered().map(|lowered| lowered.words.clone());
        drop(state);
        if let (Some(change), SiteKey::Operator(operator, identity)) = (change, &permit.site) {
            self.log_change(change, *operator, *identity, interval, words.as_deref());
        }
    }

    /// A recipient that is asked about beyond the one that the permit was granted for.
    fn count_recipient(&self, permit: &Permit<S>) {
        if let Some(site) = self.lock().sites.get_mut(&permit.site) {
            site.meter(permit.meter).count_recipient(Instant::now());
        }
    }

    /// Serves those who wait for a site, as far as there is room.
    fn pump(self: &Arc<Self>, key: &SiteKey) {
        let mut evicted = Vec::new();
        let mut state = self.lock();
        let Some(site) = state.sites.get_mut(key) else { return };
        let next = site.serve(Instant::now(), &mut evicted);
        drop(state);
        self.close_all(evicted);
        if let Some(due) = next {
            let (pool, key) = (Arc::clone(self), key.clone());
            tokio::spawn(async move {
                sleep_until(due).await;
                if let Some(site) = pool.lock().sites.get_mut(&key) {
                    site.timer_fired();
                }
                pool.pump(&key);
            });
        }
    }

    fn close_all(&self, sessions: Vec<S>) {
        self.idle.fetch_sub(sessions.len(), Ordering::Relaxed);
        sessions.into_iter().for_each(self.close);
    }

    /// Takes all idle sessions out, for their end.
    pub fn drain(&self) -> Vec<S> {
        let mut drained = Vec::new();
        let mut state = self.lock();
        state.sites.values_mut().for_each(|site| site.drain(&mut drained));
        drop(state);
        self.idle.fetch_sub(drained.len(), Ordering::Relaxed);
        drained
    }

    /// Looks through idle sessions and stale state every second, as long as there is any.
    fn sweep_soon(self: &Arc<Self>) {
        let mut sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *sweeping, true) {
            return;
        }
        drop(sweeping);
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            loop {
                sleep(SWEEP).await;
                let mut sweeping = pool.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
                if pool.sweep() {
                    *sweeping = false;
                    return;
                }
            }
        });
    }

    /// Closes what has been idle too long and forgets what is over; true when nothing is left.
    fn sweep(&self) -> bool {
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut state = self.lock();
        state.sites.retain(|key, site| {
            site.expire(now, &mut expired);
            // Operators are few, and their totals are shown.
            matches!(key, SiteKey::Operator(..)) || !site.is_over(now)
        });
        if state.sites.len() > MAX_SITES {
            state
                .sites
                .retain(|key, site| matches!(key, SiteKey::Operator(..)) || site.is_in_use());
        }
        state.domains.forget(now);
        state.addresses.forget(now);
        let nothing_left = state.domains.is_empty()
            && state.addresses.is_empty()
            && state.sites.values().all(|site| !site.is_in_use())
            && state.sites.keys().all(|key| matches!(key, SiteKey::Operator(..)));
        drop(state);
        self.close_all(expired);
        nothing_left
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> State<S> {
    /// The identity that stands in for `identity` with this operator.
    fn moved(&mut self, operator: OperatorId, identity: usize, identities: usize) -> usize {
        if identities < 2 {
            return identity;
        }
        let now = Instant::now();
        let kept = |(_, at): &&(usize, Instant)| now.saturating_duration_since(*at) < MOVE_KEPT;
        if let Some((to, _)) = self.moves.get(&(operator, identity)).filter(kept) {
            return *to;
        }
        let site = self.sites.get_mut(&SiteKey::Operator(operator, identity));
        let since = site.and_then(|site| site.meter(None).rate.floor_since());
        if since.is_some_and(|since| now.saturating_duration_since(since) >= MOVE_AFTER) {
            let to = (identity + 1) % identities;
            self.moves.insert((operator, identity), (to, now));
            return to;
        }
        identity
    }
}

/// Whether there is time for a dialogue after the wait.
fn is_worth(wait: Duration, now: Instant, request: &Request<'_>) -> bool {
    wait.is_zero() || now + wait + DIALOGUE <= request.deadline
}

/// The /24 or /64 of an address.
fn network(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8))),
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))),
    }
}

#[cfg(test)]
mod tests;
