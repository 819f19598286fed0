//! The permit to hold one session; dropping it makes room for another.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Key, MAX_IDLE, Pool, Refused, Signal,
    site::{Assigned, Idle, MeterKey, SiteKey},
};

/// A session to use, or leave to open one.
pub enum Acquired<S: Send + 'static> {
    Idle(S, Permit<S>),
    New(Permit<S>),
}

/// For whom a session is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Party {
    pub tenant: Key,
    /// Which of the tenant's, where it is many.
    pub account: Key,
    pub domain: Key,
    /// The domain has mailboxes for everybody, so no recipient there speaks for it.
    pub is_consumer: bool,
}

/// The right to one session.
pub struct Permit<S: Send + 'static> {
    pub(super) pool: Arc<Pool<S>>,
    pub(super) site: SiteKey,
    pub(super) meter: MeterKey,
    pub(super) host: Arc<str>,
    pub(super) identity: usize,
    /// The address to connect to, or that is connected to.
    pub(super) address: Option<IpAddr>,
    pub(super) party: Party,
    pub(super) released: bool,
}

impl<S: Send + 'static> Permit<S> {
    /// Which of our names the session is, or is to be, opened under.
    pub const fn identity(&self) -> usize {
        self.identity
    }

    /// The address to connect to.
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Whether the permit is for whatever address of the host, and not for one machine.
    pub const fn is_for_any_address(&self) -> bool {
        self.meter.is_none()
    }

    /// The session leads to this address.
    pub const fn connected_to(&mut self, address: IpAddr) {
        self.address = Some(address);
    }

    /// Takes note of how we were received.
    pub fn note(&self, signal: Signal<'_>) {
        self.pool.note(self, signal);
    }

    /// Counts a further recipient: the control recipient.
    pub fn count_recipient(&self) {
        self.pool.count_recipient(self);
    }

    /// Keeps the session for the next recipient, or closes it when enough lie idle.
    pub fn keep(mut self, session: S) {
        let idle = Idle {
            host: self.host.clone(),
            identity: self.identity,
            meter: self.meter,
            address: self.address,
            since: Instant::now(),
            session,
        };
        // Counted before it can be taken, and while it is closed: `close_all` counts back.
        let room = self.pool.idle.fetch_add(1, Ordering::Relaxed) < MAX_IDLE;
        let too_many = if room { self.lie_idle(idle) } else { Some(idle) };
        // Closed before the permit is dropped, which makes room for another one.
        self.pool.close_all(too_many.into_iter().map(|idle| idle.session));
    }

    /// Leaves the session to the next one, which ends the permit; or gives it back where too many lie idle.
    fn lie_idle(&mut self, idle: Idle<S>) -> Option<Idle<S>> {
        let mut state = self.pool.lock();
        let Some(site) = state.sites.get_mut(&self.site).filter(|site| site.has_room_for_idle())
        else {
            return Some(idle);
        };
        site.release(self.meter, Some(idle));
        let has_waiting = site.has_waiting();
        drop(state);
        self.released = true;
        if has_waiting {
            self.pool.pump(&self.site);
        }
        self.pool.sweep_soon();
        None
    }
}

impl<S: Send + 'static> Drop for Permit<S> {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        self.pool.make_room(&self.site, self.meter);
        self.pool.sweep_soon();
    }
}

/// A request that waits. A permit that was granted to one that has left is taken back.
pub(super) struct Queued<S: Send + 'static> {
    pub answer: oneshot::Receiver<Result<Assigned<S>, Refused>>,
    /// The permit as it will be, which counts nothing before it is granted.
    pub blank: Permit<S>,
}

impl<S: Send + 'static> Queued<S> {
    pub(super) async fn wait(mut self) -> Result<Acquired<S>, Refused> {
        // The sender lives in the site, which is not forgotten while one waits there.
        let assigned = (&mut self.answer).await.unwrap_or(Err(Refused::GONE))?;
        Ok(self.blank.granted(assigned))
    }
}

impl<S: Send + 'static> Drop for Queued<S> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(assigned)) = self.answer.try_recv() {
            // Dropping the permit makes room; an idle session stays for the next.
            match self.blank.granted(assigned) {
                Acquired::Idle(session, permit) => permit.keep(session),
                Acquired::New(_) => {}
            }
        }
    }
}

impl<S: Send + 'static> Permit<S> {
    /// The permit for what was assigned; `self` is the one that counts nothing.
    pub(super) fn granted(&self, assigned: Assigned<S>) -> Acquired<S> {
        let permit = |meter, address| Self {
            pool: Arc::clone(&self.pool),
            site: self.site.clone(),
            meter,
            host: self.host.clone(),
            identity: self.identity,
            address,
            party: self.party,
            released: false,
        };
        if matches!(self.site, SiteKey::Network(_)) {
            let is_new = u64::from(matches!(assigned, Assigned::New(_)));
            self.pool.others.sessions.fetch_add(is_new, Ordering::Relaxed);
            self.pool.others.recipients.fetch_add(1, Ordering::Relaxed);
        }
        match assigned {
            Assigned::New(meter) => Acquired::New(permit(meter, self.address)),
            Assigned::Idle(idle) => {
                self.pool.idle.fetch_sub(1, Ordering::Relaxed);
                let permit = permit(idle.meter, idle.address);
                Acquired::Idle(idle.session, permit)
            }
        }
    }
}
