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

mod admission;
mod debts;
mod ending;
mod fair_queue;
mod gates;
mod held;
mod meter;
pub mod operators;
mod permit;
mod quota;
mod rate;
mod receptions;
mod reload;
mod request;
mod settings;
mod site;
mod status;
mod warm_up;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
    time::Duration,
};

use arc_swap::ArcSwap;
use moka::sync::Cache;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use admission::{Passage, network};
use gates::Gates;
pub use meter::{Limits, Totals};
use operators::OperatorId;
pub use permit::{Acquired, Permit};
use permit::{Party, Queued};
use receptions::OtherTotals;
pub use request::{Cause, Class, Refusal, Refused, Request, Signal};
pub use settings::Settings;
use site::{Assigned, Granted, MeterKey, Site, SiteKey, Waiter, Want};
pub use status::{SiteStatus, Status};
use warm_up::WarmUp;

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
/// A domain, tenant or account, by a keyed hash: none is kept by name.
type Key = u64;

/// `S` is the session, so that the rules can be tested without one.
pub struct Pool<S> {
    settings: ArcSwap<Settings>,
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
    warm_up: WarmUp,
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
            warm_up: WarmUp::default(),
        };
        let behind = Cache::builder().max_capacity(MAX_ADDRESSES).time_to_live(ADDRESS_KEPT);
        Arc::new(Self {
            settings: ArcSwap::from_pointee(settings),
            close,
            keys: RandomState::new(),
            state: Mutex::new(state),
            idle: AtomicUsize::new(0),
            behind: behind.build(),
            sweeping: Mutex::new(false),
            others: OtherTotals::default(),
        })
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
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
        let mut now = Instant::now();
        now = until(self.pass_domain_gate(request, party, now)?, now).await;
        let (site, meter) = self.site_of(request, operator, identity);
        self.check_refusals(request, party, &site, meter, now)?;
        self.check_warm_up(request, &site)?;
        now = until(self.pass_debts(request, party, &site, meter, now)?, now).await;
        if let Some(acquired) = self.idle_session(request, party, identity, &site, meter, now) {
            return Ok(acquired);
        }
        let Passage { at, address } = self.pass_address_gate(request, now)?;
        until(at, now).await;
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
        let want = Want::of(request, identity, Some(address));
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
            account: self.keys.hash_one(request.account),
            domain: self.keys.hash_one(request.domain),
            is_consumer: self.settings().operators.is_consumer_domain(request.domain),
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

    /// An idle session with the host, if there is one and none wait.
    fn idle_session(
        self: &Arc<Self>,
        request: &Request<'_>,
        party: Party,
        identity: usize,
        site: &SiteKey,
        meter: MeterKey,
        now: Instant,
    ) -> Option<Acquired<S>> {
        let mut state = self.lock();
        let held = state.sites.get_mut(site)?;
        let idle = held.take_idle(Want::of(request, identity, meter), now)?;
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
        let want = Want::of(request, blank.identity, blank.meter);
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
            let waiter = Waiter::of(want, blank.host.clone(), answer);
            let most = self.settings().max_waiting;
            let most_of_tenant =
                if request.tenant.is_some() { self.settings().share(most) } else { usize::MAX };
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
            let settings = self.settings();
            let (limits, sessions) = settings.limits_of(key, operator);
            Site::new(limits, sessions, settings.max_idle)
        })
    }

    /// Serves those who wait for a site, as far as there is room.
    fn pump(self: &Arc<Self>, key: &SiteKey) {
        let mut next = None;
        loop {
            let (mut evicted, now) = (Vec::new(), Instant::now());
            let mut state = self.lock();
            let Some(site) = state.sites.get_mut(key) else { return };
            let (granted, due) = site.serve(now, &mut evicted);
            drop(state);
            next = next.or(due);
            // Before what takes its place is opened: the server is never to see one too many.
            self.close_all(evicted);
            let left: Vec<_> = granted.into_iter().filter_map(Granted::hand_over).collect();
            if left.is_empty() {
                break;
            }
            if let Some(site) = self.lock().sites.get_mut(key) {
                left.into_iter().for_each(|assigned| site.take_back(assigned, now));
            }
        }
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

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until `due` and says what time it is then. A timer rings a millisecond or two late, so what is due already
/// has none.
async fn until(due: Instant, now: Instant) -> Instant {
    if due <= now {
        return now;
    }
    sleep_until(due).await;
    Instant::now()
}

#[cfg(test)]
mod tests;
