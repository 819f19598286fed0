//! The door of the pool: it chooses a check's site, holds the lock, runs timers and closes sessions.
//!
//! Invariant: everything is decided under one lock, held for microseconds and never across an await. What was evicted is
//! closed before a grant is handed over.

mod ending;
pub(crate) mod permit;
mod place;
mod reception;
pub(crate) mod status;

use std::{
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

use crate::{
    asker::pasts::Pasts,
    keys::{HashKey, SiteKey},
    limits::{bans::Bans, meter::Totals},
    places::behind::Behind,
    question::{Cause, Not, Question, Refused, Target},
    settings::Settings,
    site::{Answered, Asked, Here, Site, Turn},
    sites::Sites,
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
    /// Number of idle sessions with all sites.
    pub idle: usize,
    pasts: Pasts,
    bans: Bans,
    behind: Behind,
    /// Unix time since which a blocklist contains each source address, by number.
    listed: Vec<Option<u64>>,
    /// [`Totals`] of all machines without a known operator; records of a single machine expire soon.
    others: Totals,
    #[cfg(test)]
    pub sweeps: usize,
}

impl<S> State<S> {
    /// Any use of a site that may change its number of idle sessions.
    fn at<R>(&mut self, key: &SiteKey, act: impl FnOnce(&mut Site<S>) -> R) -> Option<R> {
        let site = self.sites.get_mut(key)?;
        let before = site.here.idle.len();
        let result = act(site);
        self.idle = (self.idle + site.here.idle.len()).saturating_sub(before);
        Some(result)
    }
}

/// Result of [`Pool::begin`].
pub enum Begun<S: Send + 'static> {
    Acquired(Acquired<S>),
    Waiting(Queued<S>),
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
            idle: 0,
            pasts: Pasts::default(),
            bans: Bans::default(),
            behind: Behind::default(),
            listed: Vec::new(),
            others: Totals::default(),
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
            Begun::Waiting(queued) => queued.wait().await,
        }
    }

    /// Like [`Pool::session`]; something to wait for is only returned if a wait is needed.
    ///
    /// # Errors
    /// [`Refused`] if waiting doesn't make sense.
    pub fn begin(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
    ) -> Result<Begun<S>, Refused> {
        let (now, mut close) = (Instant::now(), Vec::new());
        let mut state = self.lock();
        let want = Box::new(self.place(&mut state, question, target, now));
        let (key, share) = (want.site.clone(), want.share);
        let most = (self.settings.load().max_waiting, share);
        let asked = state.at(&key, |site| site.ask(want, most, now, &mut close));
        let turn = match asked {
            Some(Asked::Waits(_)) => state.at(&key, |site| site.serve(now)),
            _ => None,
        };
        let acquired = match asked {
            Some(Asked::Now(Ok((want, grant)))) => Ok(Ok((want, grant))),
            Some(Asked::Now(Err(not))) => Err(not.refused(now)),
            Some(Asked::Waits(receiver)) => Ok(Err(receiver)),
            None => Err(Refused::GONE),
        }?;
        if let Ok((want, grant)) = acquired {
            let acquired = Acquired::of(self, &mut state, want, grant);
            drop(state);
            self.close_all(close);
            return Ok(Begun::Acquired(acquired));
        }
        drop(state);
        turn.into_iter().for_each(|turn| self.act(&key, turn));
        self.sweep_soon();
        match acquired {
            Err(answer) => Ok(Begun::Waiting(Queued {
                answer,
                site: key,
                is_answered: false,
                pool: Arc::clone(self),
            })),
            Ok(_) => Err(Refused::GONE),
        }
    }

    /// A permit to open a session with one more address if there is room now: for a race of IPv4 and IPv6.
    pub fn try_session(
        self: &Arc<Self>,
        question: &Question,
        target: &Target<'_>,
        address: IpAddr,
    ) -> Option<Permit<S>> {
        let (now, mut close) = (Instant::now(), Vec::new());
        let mut state = self.lock();
        let target = Target { afresh: true, admitted: true, ..*target };
        let mut want = Box::new(self.place(&mut state, question, &target, now));
        self.go_to_machine(&mut state, &mut want, address, now);
        let key = want.site.clone();
        let granted = state.at(&key, |site| site.take_now(&want, now, &mut close)).flatten();
        let acquired = granted.map(|grant| Acquired::of(self, &mut state, want, grant));
        drop(state);
        self.close_all(close);
        match acquired? {
            Acquired::New(permit) => Some(permit),
            Acquired::Idle(session, permit) => {
                permit.keep(session);
                None
            }
        }
    }

    /// Replaces the settings, and applies the new limits to existing sites and their waiting requests. Lowered rates and
    /// counted refusals are kept, because a reload mustn't make us forget how we were treated.
    ///
    /// The operators of `settings` are numbered as before ([`crate::operators::Operators::numbered_as`]).
    pub fn set_settings(self: &Arc<Self>, settings: Settings) {
        let mut state = self.lock();
        for (key, site) in state.sites.iter_mut() {
            site.here.set_limits(settings.limits_of(key));
        }
        let waiting = state.sites.iter().filter(|(_, site)| site.waiting() > 0);
        let waiting: Vec<_> = waiting.map(|(key, _)| key.clone()).collect();
        state.behind.forget_all();
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
        state.sites.or_insert_with(key, || {
            let settings = self.settings.load();
            Site::new(Here::new(key, &settings, now), &settings, now)
        })
    }

    /// Serves the waiting checks of a site.
    fn serve(self: &Arc<Self>, key: &SiteKey) {
        let turn = self.lock().at(key, |site| site.serve(Instant::now()));
        turn.into_iter().for_each(|turn| self.act(key, turn));
    }

    /// Does what a site has decided. Sessions of checks that have left are served to the next.
    fn act(self: &Arc<Self>, key: &SiteKey, turn: Turn<S>) {
        let mut next = Some(turn);
        while let Some(Turn { close, answers, look_at }) = next.take() {
            // Evicted sessions are closed before others are opened, so that the server never sees a session too many.
            self.close_all(close);
            if let Some(due) = look_at {
                self.serve_at(due, key);
            }
            let returned: Vec<_> = answers.into_iter().filter_map(Answered::hand_over).collect();
            if returned.is_empty() {
                return;
            }
            let now = Instant::now();
            next = self.lock().at(key, |site| {
                returned.into_iter().for_each(|grant| site.take_back(grant, now));
                site.serve(now)
            });
        }
    }

    fn serve_at(self: &Arc<Self>, due: Instant, key: &SiteKey) {
        let (pool, key) = (Arc::clone(self), key.clone());
        tokio::spawn(async move {
            sleep_until(due).await;
            if let Some(site) = pool.lock().sites.get_mut(&key) {
                site.timer_fired(due);
            }
            pool.serve(&key);
        });
    }

    fn close_all(&self, sessions: Vec<S>) {
        sessions.into_iter().for_each(self.close);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State<S>> {
        // No code that can panic runs under the lock.
        self.state.lock()
    }

    fn is_sweeping(&self) -> bool {
        self.sweeping.load(Ordering::Relaxed) || self.sweeping.swap(true, Ordering::AcqRel)
    }
}
