//! The permit for one session; dropping it makes room for another session.

use std::{
    future::pending,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::{Pool, State};
use crate::{
    idle::IdleSession,
    question::{Refused, Signal, Want},
    site::{Answer, Grant},
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
        if want.site.is_network() {
            state.others.sessions += u64::from(idle.is_none());
            state.others.recipients += 1;
        }
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
    cut: watch::Receiver<bool>,
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
        self.pool.note(self, signal, !self.is_control.load(Ordering::Relaxed));
    }

    /// Completes when the session has been held for long and others wait for it. The caller must then close the
    /// session; the check ends with our own limit as its reason.
    pub fn cut(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut cut = self.cut.clone();
        async move {
            if cut.wait_for(|is_due| *is_due).await.is_err() {
                pending().await
            }
        }
    }

    /// A recipient that the machine had refused in a used session is accepted in this one: the session was at its end.
    pub fn take_back_refusal(&self) {
        self.pool.take_back_refusal(self);
    }

    pub fn spares_refusal(&self) -> bool {
        self.pool.spares_refusal(self)
    }

    /// Counts an additional recipient: the control recipient, or an accepted one that is asked about again behind it.
    pub fn count_recipient(&self) {
        let is_invented = !self.is_control.swap(true, Ordering::Relaxed);
        self.pool.count_recipient(self, is_invented);
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
            group: self.want.party.group,
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
