//! The pool of sessions with mail servers, shared by all probes. It limits the number and rate of sessions, and orders
//! waiting checks (docs/architecture.md, "Neighbours").
//!
//! The shared resource is session time. Admission ([`admission`]) evaluates all of a check's conditions
//! together, and reserves all or none. An admitted check queues at its [`site`], ordered by session time ([`shares`]),
//! and a reserve keeps sessions from parties that hold them for long ([`standing`]). No reply about one recipient's
//! domain, one customer or one machine blocks others. Rates fall when our address is refused ([`rate`]), and gates
//! limit single domains and addresses ([`gates`]).
//!
//! Invariant: everything is decided under one lock, held for microseconds and never across an await.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod admission;
mod bans;
mod cut;
mod debts;
mod ending;
mod gates;
mod giving_way;
mod hash_key;
mod histories;
mod hour;
mod lately;
mod meter;
mod moves;
pub mod operators;
mod pace;
mod party;
mod permit;
mod question;
mod rate;
mod receptions;
mod recipients;
mod refusals;
mod reload;
mod sessions;
mod settings;
mod shares;
mod site;
mod site_key;
mod sites;
mod standing;
mod status;
mod waiting;
mod want;
mod warm_up;

use std::{
    collections::HashMap,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use moka::sync::Cache;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until};

use admission::Step;
use bans::Bans;
use gates::Gates;
pub use hash_key::HashKey;
use histories::Histories;
pub use meter::{Limits, Totals};
use moves::Move;
use operators::OperatorId;
pub use pace::Pace;
use party::Party;
pub use permit::{Acquired, Permit};
pub use question::{Asker, Cause, Class, Question, Refusal, Refused, Signal, Target, Wait};
use receptions::OtherTotals;
pub use settings::{Settings, Source, SourceClass};
use site::Site;
use site_key::{MeterKey, SiteKey};
use sites::Sites;
pub use status::{Entries, SiteStatus, Status};
use waiting::GrantedSession;
use want::Want;
use warm_up::WarmUp;
pub use warm_up::is_new;

/// Maximum number of addresses remembered for operators.
const MAX_ADDRESSES: u64 = 20_000;
const ADDRESS_LIFETIME: Duration = Duration::from_secs(3_600);
/// Interval of the sweep of idle sessions: a session lives at most this much longer than allowed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Lifetimes of the records of a domain's and an address's last refusal.
const DOMAIN_MEMORY: Duration = Duration::from_secs(600);
const ADDRESS_MEMORY: Duration = Duration::from_secs(300);
/// Keyed hash of a name or an address, stored in its place.
type Key = u64;

/// Pool of sessions. `S` is the session type: the rules can be tested without connections.
pub struct Pool<S> {
    settings: ArcSwap<Settings>,
    close: fn(S),
    unix_now: Box<dyn Fn() -> u64 + Send + Sync>,
    keys: HashKey,
    state: Mutex<State<S>>,
    idle: Arc<AtomicUsize>,
    /// Operator whose names resolve to each address. Once two names do, other hosts with only such addresses count as
    /// the operator's.
    behind: Cache<IpAddr, Behind>,
    sweeping: AtomicBool,
    others: OtherTotals,
    #[cfg(test)]
    sweeps: std::sync::atomic::AtomicU64,
}

/// An operator whose names resolve to an address.
#[derive(Clone, Copy)]
struct Behind {
    operator: OperatorId,
    /// Hash of the first name.
    name: Key,
    /// True if a second name also resolves to the address.
    is_shared: bool,
    /// Expiry by tokio's clock: the cache's own clock doesn't follow virtual time.
    until: Instant,
}

struct State<S> {
    sites: Sites<S>,
    domains: Gates<Key>,
    addresses: Gates<IpAddr>,
    /// Source addresses from which an operator's domains were moved.
    moves: HashMap<(OperatorId, usize), Move>,
    warm_up: WarmUp,
    histories: Histories,
    bans: Bans,
    tickets: u64,
}

/// Result of [`Pool::begin`].
pub enum Begun<'a, S: Send + 'static> {
    Acquired(Acquired<S>),
    Waiting(Waiting<'a, S>),
}

/// Completes with a session, or when waiting no longer makes sense.
pub type Waiting<'a, S> = Pin<Box<dyn Future<Output = Result<Acquired<S>, Refused>> + Send + 'a>>;

impl Refused {
    const GONE: Self = Self { after: Duration::ZERO, cause: Cause::Crowded };
}

impl<S: Send + 'static> Pool<S> {
    /// Creates an empty pool. `close` ends an unneeded session; it must not block. `unix_now` is the wall clock, in
    /// seconds. Parties are distinguished by hashes under `keys`.
    pub fn new(
        settings: Settings,
        close: fn(S),
        unix_now: impl Fn() -> u64 + Send + Sync + 'static,
        keys: HashKey,
    ) -> Arc<Self> {
        let state = State {
            sites: Sites::new(),
            domains: Gates::new(DOMAIN_MEMORY, settings.pace.gate_interval),
            addresses: Gates::new(ADDRESS_MEMORY, settings.pace.gate_interval),
            moves: HashMap::new(),
            warm_up: WarmUp::default(),
            histories: Histories::default(),
            bans: Bans::default(),
            tickets: 0,
        };
        let behind = Cache::builder().max_capacity(MAX_ADDRESSES).time_to_live(ADDRESS_LIFETIME);
        Arc::new(Self {
            settings: ArcSwap::from_pointee(settings),
            close,
            unix_now: Box::new(unix_now),
            keys,
            state: Mutex::new(state),
            idle: Arc::default(),
            behind: behind.build(),
            sweeping: AtomicBool::new(false),
            others: OtherTotals::default(),
            #[cfg(test)]
            sweeps: std::sync::atomic::AtomicU64::new(0),
        })
    }

    fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    /// A session with the host, or permission to open one; waits if necessary.
    ///
    /// # Errors
    /// [`Refused`] if waiting doesn't make sense.
    pub async fn session(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Acquired<S>, Refused> {
        match self.begin(question, target)? {
            Begun::Acquired(acquired) => Ok(acquired),
            Begun::Waiting(waiting) => waiting.await,
        }
    }

    /// Like [`Pool::session`]; a future is only returned if a wait is needed.
    ///
    /// # Errors
    /// [`Refused`] if waiting doesn't make sense.
    pub fn begin<'a>(
        self: &'a Arc<Self>,
        question: &'a Question,
        target: &'a Target<'a>,
    ) -> Result<Begun<'a, S>, Refused> {
        Ok(match self.admit(question, target)? {
            Step::Granted(acquired) => Begun::Acquired(acquired),
            step => Begun::Waiting(Box::pin(self.wait_for(step, question, target))),
        })
    }

    async fn wait_for(
        self: &Arc<Self>,
        mut step: Step<S>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Acquired<S>, Refused> {
        loop {
            match step {
                Step::Granted(acquired) => return Ok(acquired),
                Step::Queued(queued) => return queued.wait().await,
                Step::Later(ticket) => {
                    sleep_until(ticket.due).await;
                    step = self.redeem(ticket, question, target)?;
                }
            }
        }
    }

    /// A permit to open a session with one more address if there is room now: for a race of IPv4 and IPv6.
    pub fn try_session(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
        address: IpAddr,
    ) -> Option<Permit<S>> {
        let (now, party) = (Instant::now(), self.party(question));
        let mut state = self.lock();
        if state.addresses.passage_time(address, party.group, now, now) != Ok(now) {
            return None;
        }
        let history = state.histories.of(party.account, now);
        let target = Target { afresh: true, ..*target };
        let site = SiteKey::network_of(address);
        let want = Want::of(question, &target, party, history, site, &self.settings.load());
        let mut want = Box::new(want);
        want.address = Some(address);
        self.ask_machine(&mut state, &mut want, address, now);
        let mut evicted = Vec::new();
        let site = self.site(&mut state, &want.site);
        let granted = site.serve_newcomer(&want, None, now, &mut evicted);
        drop(state);
        self.close_all(evicted);
        match Acquired::of(self, want, granted?) {
            Acquired::New(permit) => Some(permit),
            Acquired::Idle(session, permit) => {
                permit.keep(session);
                None
            }
        }
    }

    fn party(&self, question: &Question) -> Party {
        let Question { address, asker, .. } = question;
        let key = |kind: u8, name: Option<&str>| self.keys.hash_one((kind, name));
        Party {
            group: key(0, asker.fairness_group.as_deref()),
            account: key(1, asker.account.as_deref()),
            domain: key(2, Some(address.domain())),
            is_consumer: self.settings.load().operators.is_consumer_domain(address.domain()),
        }
    }

    fn site<'s>(&self, state: &'s mut State<S>, key: &SiteKey) -> &'s mut Site<S> {
        state.sites.or_insert_with(key, || {
            let settings = self.settings.load();
            Site::new(settings.limits_of(key), &settings, self.idle.clone())
        })
    }

    /// Also sets the meter's limit after a ban.
    fn meter_of(
        &self,
        state: &mut State<S>,
        network: &SiteKey,
        machine: IpAddr,
        now: Instant,
    ) -> MeterKey {
        let limit =
            (!state.bans.is_empty()).then(|| state.bans.most(self.machine_key(machine), now));
        let site = self.site(state, network);
        let key = site.meter_of(machine, now);
        if let Some(most) = limit {
            site.meter(key).refused_lately.set_most_since_ban(most);
        }
        key
    }

    fn machine_key(&self, machine: IpAddr) -> Key {
        self.keys.hash_one(("machine", machine))
    }

    fn pump(self: &Arc<Self>, key: &SiteKey) {
        loop {
            let (mut evicted, now) = (Vec::new(), Instant::now());
            let mut state = self.lock();
            let Some(site) = state.sites.get_mut(key) else { return };
            let (granted, due) = site.serve(now, &mut evicted);
            drop(state);
            // Evicted sessions are closed before others are opened, so that the server never sees a session too many.
            self.close_all(evicted);
            if let Some(due) = due {
                self.pump_at(due, key);
            }
            let returned: Vec<_> =
                granted.into_iter().filter_map(GrantedSession::hand_over).collect();
            if returned.is_empty() {
                return;
            }
            if let Some(site) = self.lock().sites.get_mut(key) {
                returned.into_iter().for_each(|grant| site.take_back(grant, now));
            }
        }
    }

    fn pump_at(self: &Arc<Self>, due: Instant, key: &SiteKey) {
        let (pool, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            sleep_until(due).await;
            if let Some(site) = pool.lock().sites.get_mut(&key) {
                site.timer_fired(due);
            }
            pool.pump(&key);
        });
    }

    fn close_all(&self, sessions: Vec<S>) {
        sessions.into_iter().for_each(self.close);
    }

    fn lock(&self) -> MutexGuard<'_, State<S>> {
        // No code that can panic runs under the lock.
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
