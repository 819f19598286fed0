//! How sessions end: at once where they are one too many, and when they have lain idle for too long.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use tokio::time::{Instant, sleep};

use super::{
    MAX_SITES, Pool, SWEEP,
    site::{MeterKey, SiteKey},
};

impl<S: Send + 'static> Pool<S> {
    /// Ends sessions that were idle.
    pub(super) fn close_all(&self, sessions: impl IntoIterator<Item = S>) {
        for session in sessions {
            (self.close)(session);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// A session has been closed: there is room for those who wait.
    pub(super) fn make_room(self: &Arc<Self>, key: &SiteKey, meter: MeterKey) {
        let has_waiting = self.lock().sites.get_mut(key).is_some_and(|site| {
            site.release(meter, None);
            site.has_waiting()
        });
        if has_waiting {
            self.pump(key);
        }
    }

    /// Takes all idle sessions out, for their end.
    pub fn drain(&self) -> Vec<S> {
        let mut drained = Vec::new();
        for site in self.lock().sites.values_mut() {
            for (meter, session) in site.drain() {
                site.release(meter, None);
                drained.push(session);
            }
        }
        self.idle.fetch_sub(drained.len(), Ordering::Relaxed);
        drained
    }

    /// Looks through idle sessions and stale state every second, as long as there is any.
    pub(super) fn sweep_soon(self: &Arc<Self>) {
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
    fn sweep(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let mut expired = Vec::new();
        let mut state = self.lock();
        state.sites.retain(|key, site| {
            let of_site = site.expire(now).into_iter();
            expired.extend(of_site.map(|(meter, session)| (key.clone(), meter, session)));
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
        for (key, meter, session) in expired {
            self.close_all([session]);
            self.make_room(&key, meter);
        }
        nothing_left
    }
}
