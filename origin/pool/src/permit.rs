//! The permit for one session; dropping it makes room for another.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{sync::oneshot, time::Instant};

use super::{
    Class, Pool, Refused, Signal,
    cut::Cut,
    party::Party,
    sessions::{Grant, Idle},
    site_key::{MeterKey, SiteKey},
    waiting::Answer,
    want::Want,
};

/// A session to use, or permission to open one.
pub enum Acquired<S: Send + 'static> {
    Idle(S, Permit<S>),
    New(Permit<S>),
}

/// The permit for one session.
pub struct Permit<S: Send + 'static> {
    pub(super) pool: Arc<Pool<S>>,
    pub(super) site: SiteKey,
    /// Number of the use at the site.
    id: u64,
    pub(super) meter: MeterKey,
    host: Arc<str>,
    identity: usize,
    /// Address of the connection, or of the one to be opened.
    pub(super) address: Option<IpAddr>,
    pub(super) party: Party,
    pub(super) class: Class,
    cut: Arc<Cut>,
    /// True if the server has replied about the recipient.
    answered: AtomicBool,
    /// True while all replies in the session were about recipients.
    is_blameless: AtomicBool,
    is_released: bool,
}

impl<S: Send + 'static> Permit<S> {
    /// Returns the index of the identity under which the session is opened.
    pub const fn identity(&self) -> usize {
        self.identity
    }

    /// Returns the address to connect to.
    pub const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Returns whether the permit is for any address of the host instead of one machine.
    pub const fn is_for_any_address(&self) -> bool {
        !self.site.is_network()
    }

    /// Records the address to which the session is connected.
    pub const fn connected_to(&mut self, address: IpAddr) {
        self.address = Some(address);
    }

    /// Records how the server treated us.
    pub fn note(&self, signal: Signal<'_>) {
        let was_answered = match signal {
            Signal::Answered { .. } => self.answered.swap(true, Ordering::Relaxed),
            Signal::Refused(_) => {
                self.is_blameless.store(false, Ordering::Relaxed);
                false
            }
        };
        self.pool.note(self, signal, !was_answered);
    }

    /// Completes when the session has been held for long and others wait for it: the caller must
    /// close it, and the check ends with our own limit as its reason.
    pub fn cut(&self) -> impl Future<Output = ()> + Send + 'static {
        let (cut, pool) = (Arc::clone(&self.cut), Arc::clone(&self.pool));
        let is_other = self.site.is_network();
        async move {
            cut.until_due().await;
            let counts = is_other && cut.is_first_to_count();
            pool.others.cut.fetch_add(u64::from(counts), Ordering::Relaxed);
        }
    }

    /// Returns whether the server has refused few enough recipients to risk a control recipient.
    pub fn spares_refusal(&self) -> bool {
        self.pool.spares_refusal(self)
    }

    /// Counts an additional recipient: the control recipient.
    pub fn count_recipient(&self) {
        self.pool.count_recipient(self);
    }

    /// Keeps the session for the next recipient at its host, or closes it if enough are idle.
    pub fn keep(self, session: S) {
        self.lie_idle(session, false);
    }

    /// Keeps the session for the next recipient at its machine, under any of its names: without
    /// TLS, a server doesn't learn which name we used. After any reply that wasn't about a
    /// recipient, the session serves its own host only.
    pub fn keep_for_machine(mut self, session: S) {
        let is_shared = *self.answered.get_mut() && *self.is_blameless.get_mut();
        self.lie_idle(session, is_shared);
    }

    fn lie_idle(mut self, session: S, is_shared: bool) {
        let idle = Idle {
            host: self.host.clone(),
            identity: self.identity,
            meter: self.meter,
            address: self.address,
            group: self.party.group,
            is_shared,
            since: Instant::now(),
            session,
        };
        let pool = Arc::clone(&self.pool);
        match pool.lie_idle(&self.site, self.id, *self.answered.get_mut(), idle) {
            None => self.is_released = true,
            // Closed before the permit is dropped, which makes room for another session.
            Some(session) => (pool.close)(session),
        }
    }
}

impl<S: Send + 'static> Drop for Permit<S> {
    fn drop(&mut self) {
        if !self.is_released {
            self.pool.end(&self.site, self.id, *self.answered.get_mut());
        }
    }
}

/// A waiting request. A permit that was granted to an abandoned request is returned.
pub(super) struct Queued<S: Send + 'static> {
    pub answer: oneshot::Receiver<Answer<S>>,
    pub claim: Claim<S>,
}

impl<S: Send + 'static> Queued<S> {
    pub(super) async fn wait(mut self) -> Result<Acquired<S>, Refused> {
        // The sender lives in the site, which isn't removed while a request waits there.
        let grant = (&mut self.answer).await.unwrap_or(Err(Refused::GONE))?;
        Ok(self.claim.granted(grant))
    }
}

impl<S: Send + 'static> Drop for Queued<S> {
    fn drop(&mut self) {
        self.answer.close();
        if let Ok(Ok(grant)) = self.answer.try_recv() {
            // Dropping the permit makes room; an idle session is kept for the next request.
            match self.claim.granted(grant) {
                Acquired::Idle(session, permit) => permit.keep(session),
                Acquired::New(_) => {}
            }
        }
    }
}

/// Parts of a permit that are known before the session is granted.
pub(super) struct Claim<S: Send + 'static> {
    pub pool: Arc<Pool<S>>,
    pub site: SiteKey,
    pub want: Want,
    pub address: Option<IpAddr>,
}

impl<S: Send + 'static> Claim<S> {
    pub(super) fn granted(&self, grant: Grant<S>) -> Acquired<S> {
        let Grant { id, meter, cut, idle } = grant;
        let is_blameless = idle.as_ref().is_none_or(|idle| idle.is_shared);
        let permit = |address| Permit {
            pool: Arc::clone(&self.pool),
            site: self.site.clone(),
            id,
            meter,
            host: self.want.host.clone(),
            identity: self.want.identity,
            address,
            party: self.want.party,
            class: self.want.class,
            cut,
            answered: AtomicBool::new(false),
            is_blameless: AtomicBool::new(is_blameless),
            is_released: false,
        };
        if self.site.is_network() {
            let is_new = u64::from(idle.is_none());
            self.pool.others.sessions.fetch_add(is_new, Ordering::Relaxed);
            self.pool.others.recipients.fetch_add(1, Ordering::Relaxed);
        }
        match idle {
            None => Acquired::New(permit(self.address)),
            Some(Idle { address, session, .. }) => Acquired::Idle(session, permit(address)),
        }
    }
}
