//! The door of the pool: it chooses a check's site, holds the lock, runs timers and closes sessions.
//!
//! Invariant: everything is decided under one lock, held for microseconds and never across an await. What is evicted is
//! closed under it, so that a server never sees a session too many.

pub(crate) mod permit;
mod place;
pub(crate) mod sites;
pub(crate) mod status;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until};

use permit::{Acquired, Permit, Queued};
use sites::Sites;
use status::Totals;

use crate::{
    asker::Pasts,
    limits::refused::Bans,
    question::{Cause, HashKey, Not, OperatorId, Question, Refused, SiteKey, Target},
    settings::Settings,
    site::{Asked, Here, Site},
};

/// Pool of sessions. `S` is the session type: the rules can be tested without connections.
pub struct Pool<S> {
    settings: ArcSwap<Settings>,
    close: fn(S),
    unix_now: Box<dyn Fn() -> u64 + Send + Sync>,
    keys: HashKey,
    state: Mutex<State<S>>,
    sweeping: AtomicBool,
}

pub(crate) struct State<S> {
    pub sites: Sites<S>,
    pub idle: usize,
    pasts: Pasts,
    bans: Bans,
    /// Unix time since which a blocklist contains each source address, by number.
    listed: Vec<Option<u64>>,
    /// By operator and source address; `None` for all machines without a known operator.
    totals: BTreeMap<Option<(OperatorId, usize)>, Totals>,
    #[cfg(test)]
    pub sweeps: usize,
}

impl<S> State<S> {
    fn count(&mut self, site: &SiteKey, add: impl FnOnce(&mut Totals)) {
        let of = match site {
            SiteKey::Operator(operator, identity) => Some((*operator, *identity)),
            SiteKey::Network(_) => None,
            SiteKey::Route(_) => return,
        };
        add(self.totals.entry(of).or_default());
    }

    /// Any use of a site that may change its number of idle sessions.
    fn at<R>(&mut self, key: &SiteKey, act: impl FnOnce(&mut Site<S>) -> R) -> Option<R> {
        let site = self.sites.all.get_mut(key)?;
        let before = site.here.idle.len();
        let result = act(site);
        self.idle = (self.idle + site.here.idle.len()).saturating_sub(before);
        Some(result)
    }
}

impl Not {
    fn refused(self, now: Instant) -> Refused {
        let until = self.until.unwrap_or(now);
        Refused { after: until.saturating_duration_since(now), cause: self.cause }
    }
}

impl Refused {
    pub(crate) const GONE: Self = Self { after: Duration::ZERO, cause: Cause::Crowded };
}

impl<S: Send + 'static> Pool<S> {
    /// `close` ends an unneeded session; it must not block. `unix_now` is the wall clock, in seconds. Parties are
    /// distinguished by hashes under `keys`.
    pub fn new(
        settings: Settings,
        close: fn(S),
        unix_now: impl Fn() -> u64 + Send + Sync + 'static,
        keys: HashKey,
    ) -> Arc<Self> {
        let state = State {
            sites: Sites::new(),
            idle: 0,
            pasts: Pasts::default(),
            bans: Bans::default(),
            listed: Vec::new(),
            totals: BTreeMap::new(),
            #[cfg(test)]
            sweeps: 0,
        };
        Arc::new(Self {
            settings: ArcSwap::from_pointee(settings),
            close,
            unix_now: Box::new(unix_now),
            keys,
            state: Mutex::new(state),
            sweeping: AtomicBool::new(false),
        })
    }

    /// Waits if necessary; refuses if waiting doesn't make sense.
    pub async fn session(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Acquired<S>, Refused> {
        match self.ask(question, target) {
            Ok(answer) => answer,
            Err(queued) => queued.wait().await,
        }
    }

    fn ask(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Result<Acquired<S>, Refused>, Queued<S>> {
        let (mut state, now) = (self.lock(), Instant::now());
        let want = Box::new(self.place(&mut state, question, target, now));
        let site = want.site.clone();
        let most = (self.settings.load().max_waiting, want.share);
        let answer = match state.at(&site, |site| site.ask(want, most, now)) {
            None => return Ok(Err(Refused::GONE)),
            Some(Asked::Now(answer)) => answer,
            Some(Asked::Waits(answer)) => {
                drop(state);
                self.serve(&site);
                self.sweep_soon();
                return Err(Queued { answer, pool: Arc::clone(self) });
            }
        };
        let acquired = answer.map(|(want, grant)| Acquired::of(self, &mut state, want, grant));
        drop(state);
        Ok(acquired.map_err(|not| not.refused(now)))
    }

    pub fn try_session(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
        address: IpAddr,
    ) -> Option<Permit<S>> {
        let (mut state, now) = (self.lock(), Instant::now());
        let target = Target { afresh: true, admitted: true, ..*target };
        let mut want = Box::new(self.place(&mut state, question, &target, now));
        self.go_to_machine(&mut state, &mut want, address, now);
        let key = want.site.clone();
        let granted = state.at(&key, |site| site.take_now(&want, now)).flatten();
        let acquired = granted.map(|grant| Acquired::of(self, &mut state, want, grant));
        drop(state);
        match acquired? {
            Acquired::New(permit) => Some(permit),
            Acquired::Idle(session, permit) => {
                permit.keep(session);
                None
            }
        }
    }

    /// Replaces the settings, also for existing sites and waiting requests. Lowered rates and counted refusals are
    /// kept, because a reload mustn't make us forget how we were treated.
    pub fn set_settings(self: &Arc<Self>, settings: Settings) {
        let mut state = self.lock();
        for (key, site) in state.sites.all.iter_mut() {
            site.here.set_limits(settings.limits_of(key));
        }
        let waiting = state.sites.all.iter().filter(|(_, site)| site.waiting() > 0);
        let waiting: Vec<_> = waiting.map(|(key, _)| key.clone()).collect();
        // The lock is still held, so that no site is created with the old settings.
        self.settings.store(Arc::new(settings));
        drop(state);
        waiting.iter().for_each(|site| self.serve(site));
    }

    /// Sets the Unix times since which blocklists contain the source addresses: batches then use an
    /// address like one that is new since that time. A wrong blocklist stops nobody.
    pub fn set_listed(&self, since: Vec<Option<u64>>) {
        self.lock().listed = since;
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.load_full()
    }

    fn site<'s>(&self, state: &'s mut State<S>, key: &SiteKey, now: Instant) -> &'s mut Site<S> {
        state.sites.all.entry(key.clone()).or_insert_with(|| {
            let settings = self.settings.load();
            Site::new(Here::new(key, &settings, self.close, now), &settings, now)
        })
    }

    fn serve(self: &Arc<Self>, key: &SiteKey) {
        let due = self.lock().at(key, |site| site.serve(Instant::now()));
        self.serve_at(due.flatten(), key);
    }

    fn serve_at(self: &Arc<Self>, due: Option<Instant>, key: &SiteKey) {
        let Some(due) = due else { return };
        let (pool, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            sleep_until(due).await;
            if let Some(site) = pool.lock().sites.all.get_mut(&key) {
                site.timer_fired(due);
            }
            pool.serve(&key);
        });
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<S>> {
        // No code that can panic runs under the lock.
        self.state.lock()
    }

    fn is_sweeping(&self) -> bool {
        self.sweeping.load(Ordering::Relaxed) || self.sweeping.swap(true, Ordering::AcqRel)
    }
}
