//! Refusals and acceptances by servers, with their consequences for later checks.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{Permit, Pool, State};
use crate::{
    keys::{OperatorId, SiteKey},
    limits::rate::Change,
    question::{Refusal, Signal},
};

impl<S: Send + 'static> Pool<S> {
    /// `is_asked_for` is false for a reply about the control recipient. An answer may let waiting checks go on.
    pub(super) fn note(
        self: &Arc<Self>,
        permit: &Permit<S>,
        signal: Signal<'_>,
        is_asked_for: bool,
    ) {
        let want = &*permit.want;
        if matches!(want.site, SiteKey::Route(_)) {
            return;
        }
        let now = Instant::now();
        let mut state = self.lock();
        let State { sites, pasts, bans, others, .. } = &mut *state;
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
        let before = meter.totals;
        let change = site.here.hear(want, signal, is_asked_for, now);
        let meter = site.here.meter(want.meter);
        if want.site.is_network() {
            others.refused += meter.totals.refused - before.refused;
            others.refusals_of_us += meter.totals.refusals_of_us - before.refusals_of_us;
        }
        let interval = meter.rate.interval();
        let words = change.and(meter.rate.lowered()).map(|lowered| lowered.words.clone());
        let due = state.at(&want.site, |site| site.serve(now)).flatten();
        drop(state);
        self.serve_at(due, &want.site);
        if let (Some(change), SiteKey::Operator(operator, identity)) = (change, &want.site) {
            self.log_change(change, (*operator, *identity), interval, words.as_deref());
        }
    }

    pub(super) fn take_back_refusal(&self, permit: &Permit<S>) {
        if let Some(site) = self.lock().sites.all.get_mut(&permit.want.site) {
            site.here.meter(permit.want.meter).lately.take_back(permit.want.party);
        }
    }

    pub(super) fn spares_refusal(&self, permit: &Permit<S>) -> bool {
        let (mut state, now) = (self.lock(), Instant::now());
        let site = state.sites.all.get_mut(&permit.want.site);
        site.is_none_or(|site| {
            let meter = site.here.meter(permit.want.meter);
            meter.lately.spares_one(permit.want.class, now) && meter.per_hour.spares_one(now)
        })
    }

    pub(super) fn count_recipient(&self, permit: &Permit<S>, is_invented: bool) {
        let (mut state, want) = (self.lock(), &permit.want);
        if let Some(site) = state.sites.all.get_mut(&want.site) {
            let (meter, now) = (site.here.meter(want.meter), Instant::now());
            meter.take_recipient(want.warm_up, now);
            if is_invented {
                meter.lately.take_invented(want.class, now);
            }
        }
    }

    fn log_change(
        &self,
        change: Change,
        (operator, identity): (OperatorId, usize),
        interval: Duration,
        words: Option<&str>,
    ) {
        let (operator, source) = (self.operator_name(operator), self.source(identity));
        let (operator, source) = (&*operator, &*source);
        let interval_ms = interval.as_millis() as u64;
        match change {
            Change::Lowered => {
                let words = words.unwrap_or_default();
                tracing::warn!(operator, source, interval_ms, words, "rate lowered");
            }
            Change::Raised => tracing::info!(operator, source, interval_ms, "rate raised"),
        }
    }
}
