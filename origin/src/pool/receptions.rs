//! How we were received, and what follows from it for the questions that come after.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use super::{Permit, Pool, Refusal, Signal, State, permit::Party, rate::Change, site::SiteKey};

/// [`super::Totals`] of all machines that are no operator's: what is known of one of them is soon forgotten.
#[derive(Default)]
pub(super) struct OtherTotals {
    pub sessions: AtomicU64,
    pub recipients: AtomicU64,
    pub refused: AtomicU64,
    pub refusals_of_us: AtomicU64,
}

impl<S: Send + 'static> Pool<S> {
    /// Takes note of how the holder of a permit was received.
    pub(super) fn note(&self, permit: &Permit<S>, signal: Signal<'_>) {
        if matches!(permit.site, SiteKey::Route(_)) {
            return;
        }
        let now = Instant::now();
        let Party { tenant, account, domain, is_consumer } = permit.party;
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
                    meter.refusals.count(permit.party, now);
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
                    meter.debts.closed(account, now);
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
    pub(super) fn count_recipient(&self, permit: &Permit<S>) {
        if let Some(site) = self.lock().sites.get_mut(&permit.site) {
            site.meter(permit.meter).count_recipient(Instant::now());
        }
    }
}
