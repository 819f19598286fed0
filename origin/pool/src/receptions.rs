//! Records how servers treat us, with the consequences for later checks.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use tokio::time::Instant;

use super::{
    Class, Key, Permit, Pool, Refusal, Signal, State, gates::Gates, meter::Meter, party::Party,
    rate::Change, site_key::SiteKey,
};

/// [`super::Totals`] of all machines without a known operator; records of a single machine expire
/// soon.
#[derive(Default)]
pub(super) struct OtherTotals {
    pub sessions: AtomicU64,
    pub recipients: AtomicU64,
    pub refused: AtomicU64,
    pub refusals_of_us: AtomicU64,
    pub cut: AtomicU64,
}

impl<S: Send + 'static> Pool<S> {
    /// `is_asked_for` is false for a reply about the control recipient.
    pub(super) fn note(&self, permit: &Permit<S>, signal: Signal<'_>, is_asked_for: bool) {
        if matches!(permit.want.site, SiteKey::Route(_)) {
            return;
        }
        let now = Instant::now();
        let mut state = self.lock();
        let State { sites, domains, addresses, histories, bans, .. } = &mut *state;
        let Some(site) = sites.get_mut(&permit.want.site) else { return };
        let meter = site.meter(permit.want.meter);
        let others = permit.want.site.is_network().then_some(&self.others);
        let (party, address) = (permit.want.party, permit.want.address);
        // While another session is open, the server's connection limit may be the reason.
        let is_alone = meter.in_use + meter.idle <= 1;
        if let (Signal::Refused(Refusal { before_rcpt: true, is_trouble: false, .. }), true) =
            (signal, is_alone)
            && let Some(machine) = permit.want.meter
        {
            let key = self.machine_key(machine);
            bans.record(key, meter.refused_lately.total(now), now);
            meter.refused_lately.set_most_since_ban(bans.most(key, now));
        }
        let mut reception =
            Reception { meter, domains, addresses, others, party, address, is_asked_for, now };
        let is_refused = match signal {
            Signal::Answered { refused } => refused,
            Signal::Refused(refusal) => !refusal.before_rcpt,
            Signal::Unread => true,
        };
        if is_refused {
            reception.count_refused();
        }
        let change = match signal {
            Signal::Answered { refused } => {
                if is_asked_for {
                    histories.record_answer(party, refused, now);
                }
                reception.record_answer()
            }
            Signal::Refused(refusal) => reception.record_refusal(refusal),
            Signal::Unread => None,
        };
        let meter = reception.meter;
        if change == Some(Change::Raised) {
            meter.rate_raised(now);
        }
        let interval = meter.rate.interval();
        let words = change.and(meter.rate.lowered()).map(|lowered| lowered.words.clone());
        drop(state);
        if let (Some(change), SiteKey::Operator(operator, identity)) = (change, &permit.want.site) {
            self.log_change(change, *operator, *identity, interval, words.as_deref());
        }
    }

    pub(super) fn spares_refusal(&self, permit: &Permit<S>) -> bool {
        let mut state = self.lock();
        let site = state.sites.get_mut(&permit.want.site);
        let class = permit.want.class;
        site.is_none_or(|site| site.meter(permit.want.meter).spares_refusal(class, Instant::now()))
    }

    pub(super) fn count_recipient(&self, permit: &Permit<S>) {
        let now = Instant::now();
        let mut state = self.lock();
        if let Some(site) = state.sites.get_mut(&permit.want.site) {
            let meter = site.meter(permit.want.meter);
            meter.count_recipient(now);
            meter.refused_lately.count_invented(now);
        }
        if let (Class::Batch, SiteKey::Operator(operator, identity)) =
            (permit.want.class, &permit.want.site)
        {
            state.warm_up.count_control(*operator, *identity, now);
        }
    }
}

/// A holder of a permit, and the counters affected by the server's reaction.
struct Reception<'a> {
    meter: &'a mut Meter,
    domains: &'a mut Gates<Key>,
    addresses: &'a mut Gates<IpAddr>,
    /// Set if the machine has no known operator.
    others: Option<&'a OtherTotals>,
    party: Party,
    /// Address of the machine, if a connection was made.
    address: Option<IpAddr>,
    /// False for a control recipient.
    is_asked_for: bool,
    now: Instant,
}

impl Reception<'_> {
    fn count_refused(&mut self) {
        self.meter.totals.refused += 1;
        self.count_other(|others| &others.refused);
        let party = self.is_asked_for.then_some(self.party);
        self.meter.refusals.count(party, self.now);
        self.meter.refused_lately.count(party.map(|party| party.group), self.now);
    }

    fn record_answer(&mut self) -> Option<Change> {
        let Party { group, domain, .. } = self.party;
        self.domains.record_answer(domain);
        if let Some(address) = self.address {
            self.addresses.record_answer(address);
        }
        self.meter.rate.record_answer(group, domain, self.now)
    }

    fn record_refusal(&mut self, refusal: Refusal<'_>) -> Option<Change> {
        let Refusal { before_rcpt, closing, about_our_address, hint, words, .. } = refusal;
        let Party { group, account, domain, is_consumer } = self.party;
        self.meter.totals.refusals_of_us += 1;
        self.count_other(|others| &others.refusals_of_us);
        if before_rcpt
            && closing
            && let Some(address) = self.address
        {
            // The gate is narrowed without the hint: only a domain's gate keeps batches away for longer.
            self.addresses.record_refusal(address, None, self.now);
        }
        match (is_consumer, before_rcpt || closing) {
            (true, _) => {}
            (false, true) => self.domains.record_refusal(domain, hint, self.now),
            (false, false) => self.domains.record_doubt(domain, hint, self.now),
        }
        if closing && !before_rcpt {
            self.meter.debts.record_closed(account, self.now);
        }
        if !about_our_address {
            None
        } else if before_rcpt {
            self.meter.rate.record_machine_refusal(self.address?, domain, words, self.now)
        } else {
            self.meter.rate.record_refusal_at_rcpt(group, domain, words, self.now)
        }
    }

    fn count_other(&self, total: impl Fn(&OtherTotals) -> &AtomicU64) {
        if let Some(others) = self.others {
            total(others).fetch_add(1, Ordering::Relaxed);
        }
    }
}
