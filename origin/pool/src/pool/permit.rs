//! The permit for one session, through which its holder says how the server reacted, with the consequences for later
//! checks. Dropping it makes room for another session.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{Pool, State};
use crate::{
    limits::rate::Change,
    question::{Refusal, Refused, Signal, SiteKey, Want},
    site::{Answer, Grant, IdleSession},
};

pub enum Acquired<S: Send + 'static> {
    Idle(S, Permit<S>),
    New(Permit<S>),
}

impl<S: Send + 'static> Acquired<S> {
    pub(super) fn of(
        pool: &Arc<Pool<S>>,
        state: &mut State<S>,
        mut want: Box<Want>,
        grant: Grant<S>,
    ) -> Self {
        let Grant { id, meter, cut, idle } = grant;
        want.meter = meter;
        state.count(&want.site, |totals| {
            totals.sessions += u64::from(idle.is_none());
            totals.recipients += 1;
        });
        let is_blameless = idle.as_ref().is_none_or(|idle| idle.is_shared);
        let session = idle.map(|IdleSession { address, session, .. }| {
            want.address = address;
            session
        });
        let permit = Permit {
            pool: Arc::clone(pool),
            want,
            id,
            cut,
            answered: AtomicBool::new(false),
            is_blameless: AtomicBool::new(is_blameless),
            is_control: AtomicBool::new(false),
            is_released: false,
        };
        match session {
            None => Self::New(permit),
            Some(session) => Self::Idle(session, permit),
        }
    }
}

pub struct Permit<S: Send + 'static> {
    pool: Arc<Pool<S>>,
    /// Boxed to keep a probe's futures small: each step holds the permit.
    pub(crate) want: Box<Want>,
    id: u64,
    cut: CancellationToken,
    answered: AtomicBool,
    /// True while the server hasn't refused us in the session.
    is_blameless: AtomicBool,
    /// True once the session asks about a control recipient, whose refusal is nobody's.
    is_control: AtomicBool,
    is_released: bool,
}

impl<S: Send + 'static> Permit<S> {
    pub const fn identity(&self) -> usize {
        self.want.identity
    }

    /// The address to connect to; `None` if the caller may choose.
    pub const fn address(&self) -> Option<IpAddr> {
        self.want.address
    }

    pub const fn is_for_any_address(&self) -> bool {
        !self.want.site.is_network()
    }

    pub const fn connected_to(&mut self, address: IpAddr) {
        self.want.address = Some(address);
    }

    pub fn note(&self, signal: Signal<'_>) {
        match signal {
            Signal::Answered { .. } | Signal::AcceptedLikeAny => {
                self.answered.store(true, Ordering::Relaxed)
            }
            Signal::Refused(_) => self.is_blameless.store(false, Ordering::Relaxed),
            Signal::Unread => {}
        }
        let is_asked_for = !self.is_control.load(Ordering::Relaxed);
        self.pool.hear(&self.want, signal, is_asked_for);
    }

    /// Completes when the session has been held for long and others wait for it. The caller must then close the
    /// session; the check ends with our own limit as its reason.
    pub fn cut(&self) -> impl Future<Output = ()> + Send + 'static {
        self.cut.clone().cancelled_owned()
    }

    /// A recipient that the machine had refused in a used session is accepted in this one: the session was at its end.
    pub fn take_back_refusal(&self) {
        if let Some(site) = self.pool.lock().sites.all.get_mut(&self.want.site) {
            site.here.meter(self.want.meter).lately.take_back(self.want.party);
        }
    }

    pub fn spares_refusal(&self) -> bool {
        let (mut state, now) = (self.pool.lock(), Instant::now());
        let site = state.sites.all.get_mut(&self.want.site);
        site.is_none_or(|site| {
            let meter = site.here.meter(self.want.meter);
            meter.lately.spares_one(self.want.class, now) && meter.per_hour.spares_one(now)
        })
    }

    /// Counts an additional recipient: the control recipient, or an accepted one that is asked about again behind it.
    pub fn count_recipient(&self) {
        let is_invented = !self.is_control.swap(true, Ordering::Relaxed);
        let (mut state, want) = (self.pool.lock(), &self.want);
        state.count(&want.site, |totals| totals.recipients += 1);
        if let Some(site) = state.sites.all.get_mut(&want.site) {
            let (meter, now) = (site.here.meter(want.meter), Instant::now());
            meter.take_recipient(want.warm_up, now);
            if is_invented {
                meter.lately.take_invented(want.class, now);
            }
        }
    }

    pub fn keep(self, session: S) {
        self.lie_idle(session, false);
    }

    /// Keeps the session for the next recipient at its machine, under any of the machine's names: without TLS, a server
    /// doesn't learn which name we used. Without an answer or after a refusal of us, the session serves only this host.
    pub fn keep_for_machine(mut self, session: S) {
        let is_shared = *self.answered.get_mut() && *self.is_blameless.get_mut();
        self.lie_idle(session, is_shared);
    }

    fn lie_idle(mut self, session: S, is_shared: bool) {
        let idle = IdleSession {
            host: self.want.host.clone(),
            identity: self.want.identity,
            meter: self.want.meter,
            address: self.want.address,
            is_shared,
            since: Instant::now(),
            session,
        };
        let pool = Arc::clone(&self.pool);
        match pool.lie_idle(&self.want.site, self.id, *self.answered.get_mut(), idle) {
            None => self.is_released = true,
            // The session is closed before the permit is dropped, which makes room for another session.
            Some(session) => (pool.close)(session),
        }
    }
}

impl<S: Send + 'static> Pool<S> {
    /// `is_asked_for` is false for a reply about the control recipient. An answer may let waiting checks go on.
    fn hear(self: &Arc<Self>, want: &Want, signal: Signal<'_>, is_asked_for: bool) {
        if matches!(want.site, SiteKey::Route(_)) {
            return;
        }
        let now = Instant::now();
        let mut state = self.lock();
        state.count(&want.site, |totals| {
            totals.refused += u64::from(signal.is_refused_recipient());
            totals.refusals_of_us += u64::from(matches!(signal, Signal::Refused(_)));
        });
        let State { sites, pasts, bans, .. } = &mut *state;
        let Some(site) = sites.all.get_mut(&want.site) else { return };
        let meter = site.here.meter(want.meter);
        // While another session is open, the server's connection limit may be the reason.
        let is_alone = meter.in_use + meter.idle <= 1;
        if let (Signal::Refused(Refusal { before_rcpt: true, is_trouble: false, .. }), true) =
            (signal, is_alone)
            && let Some(machine) = want.meter
        {
            let key = self.machine_key(machine);
            bans.hear(key, meter.lately.asked_for(now), now);
            meter.lately.most_since_ban = bans.most(key, now);
        }
        if let (Signal::Answered { refused }, true) = (signal, is_asked_for) {
            pasts.hear(want.party, refused, now);
        }
        let change = site.here.hear(want, signal, is_asked_for, now);
        let rate = &site.here.meter(want.meter).rate;
        let interval_ms = rate.interval().as_millis() as u64;
        let words = change.and(rate.lowered()).map(|lowered| lowered.words.clone());
        let due = state.at(&want.site, |site| site.serve(now)).flatten();
        drop(state);
        self.serve_at(due, &want.site);
        let (Some(change), SiteKey::Operator(operator, identity)) = (change, &want.site) else {
            return;
        };
        let (operator, source) = (&*self.operator_name(*operator), &*self.source(*identity));
        match change {
            Change::Lowered => {
                let words = words.unwrap_or_default();
                tracing::warn!(operator, source, interval_ms, words, "rate lowered");
            }
            Change::Raised => tracing::info!(operator, source, interval_ms, "rate raised"),
        }
    }
}

impl<S: Send + 'static> Drop for Permit<S> {
    fn drop(&mut self) {
        if !self.is_released {
            self.pool.end(&self.want.site, self.id, *self.answered.get_mut());
        }
    }
}

pub(super) struct Queued<S: Send + 'static> {
    pub answer: oneshot::Receiver<Answer<S>>,
    pub pool: Arc<Pool<S>>,
}

impl<S: Send + 'static> Queued<S> {
    pub async fn wait(mut self) -> Result<Acquired<S>, Refused> {
        // The sender lives in the site, which isn't removed while it has waiting requests.
        match (&mut self.answer).await {
            Ok(Ok((want, grant))) => {
                Ok(Acquired::of(&self.pool, &mut self.pool.lock(), want, grant))
            }
            Ok(Err(not)) => Err(not.refused(Instant::now())),
            Err(_) => Err(Refused::GONE),
        }
    }
}

impl<S: Send + 'static> Drop for Queued<S> {
    fn drop(&mut self) {
        self.answer.close();
        let Ok(Ok((want, grant))) = self.answer.try_recv() else { return };
        // The check left before it heard of its session. Dropping the permit makes room.
        let acquired = Acquired::of(&self.pool, &mut self.pool.lock(), want, grant);
        if let Acquired::Idle(session, permit) = acquired {
            permit.keep(session);
        }
    }
}
