//! A site's conclusions from servers' replies, and from the ends of sessions: released, cut, idle for too long.

use std::time::Duration;

use tokio::time::Instant;

use super::{Here, IdleSession, here::Use};
use crate::{
    asker::{CUT, SLOW},
    limits::rate::Change,
    question::{Cause, Class, Key, MeterKey, Party, Refusal, Signal, Want},
};

/// Time until long-held sessions are examined again, if none could be cut.
const CUT_RETRY_DELAY: Duration = Duration::from_millis(500);

impl<S> Here<S> {
    /// A server's reaction to the check; `is_asked_for` is false for a control recipient.
    pub(crate) fn hear(
        &mut self,
        want: &Want,
        signal: Signal<'_>,
        is_asked_for: bool,
        now: Instant,
    ) -> Option<Change> {
        let party = want.party;
        let meter = self.meter(want.meter);
        if signal.is_refused_recipient() {
            let by = is_asked_for.then_some(party);
            meter.per_hour.take(by, now);
            meter.lately.take(by, now);
        }
        match signal {
            Signal::Answered { .. } | Signal::AcceptedLikeAny => {
                let change = meter.rate.hear_answer(party.group, party.domain, now);
                self.domains.hear_answer(party.domain);
                want.address.into_iter().for_each(|ip| self.addresses.hear_answer(ip));
                change
            }
            Signal::Refused(refusal) => self.hear_refusal(want, refusal, now),
            Signal::Unread => None,
        }
    }

    /// A reply about one recipient has consequences for the account that provoked it alone. A refusal before RCPT, in a
    /// new session, is the machine's.
    fn hear_refusal(&mut self, want: &Want, refusal: Refusal<'_>, now: Instant) -> Option<Change> {
        let Refusal { before_rcpt, closing, hint, words, .. } = refusal;
        let Party { group, domain, .. } = want.party;
        // Checks without a group are the service's own.
        let evidence = want.share.map(|_| group);
        let by = evidence.filter(|_| !before_rcpt).map(|_| want.party);
        if want.has_gate && (before_rcpt || closing) {
            self.domains.hear_refusal(domain, by, hint, now);
        }
        if before_rcpt
            && closing
            && let Some(ip) = want.address
        {
            // The gate is narrowed without the hint: only a domain's gate keeps batches away for longer.
            self.addresses.hear_refusal(ip, None, None, now);
        }
        if (closing || refusal.about_our_rate) && !before_rcpt {
            self.costs.hear_closed(want.party, now);
        }
        let meter = self.meter(want.meter);
        if refusal.about_our_address && before_rcpt && want.site.is_network() {
            meter.rate.hear_machine(domain, words, now)
        } else if refusal.about_our_address || refusal.about_our_rate {
            meter.rate.hear_words((group, evidence), domain, words, now)
        } else {
            None
        }
    }

    /// The result has the time that the queue charges. A session that ends without an answer costs at least the time
    /// until the next one may be opened: each domain that says "slow down" takes one from others.
    pub(super) fn end(
        &mut self,
        id: u64,
        answered: bool,
        idle: Option<IdleSession<S>>,
        others_wait: impl FnOnce(Key) -> bool,
        now: Instant,
    ) -> Option<((Party, Class), Duration, bool)> {
        let Use { party, class, meter: key, since, cut, .. } = self.uses.remove(&id)?;
        let (took, is_cut) = (now.saturating_duration_since(since), cut.is_cancelled());
        let made_wait = is_cut || (took > SLOW && others_wait(party.account));
        self.costs.hear_end(party, took, (answered, made_wait), now);
        let meter = self.meter(key);
        meter.in_use = meter.in_use.saturating_sub(1);
        let is_lost = idle.is_none() && !answered;
        let used = if is_lost { took.max(meter.rate.interval_for_all()) } else { took };
        if let Some(idle) = idle {
            meter.idle += 1;
            self.idle.push(idle);
        }
        Some(((party, class), used, is_cut))
    }

    /// Of the sessions that may be cut and that others wait for, cuts the one in use for longest. Otherwise the result
    /// is when to look again; `None` while a cut session is being closed, or if none is in use.
    pub(super) fn cut_longest<'w>(
        &mut self,
        waiting: impl Iterator<Item = &'w Want>,
        now: Instant,
    ) -> Option<Instant> {
        if self.uses.values().any(|it| it.cut.is_cancelled()) {
            return None;
        }
        let oldest = self.uses.values().map(|it| it.since).min()?;
        if oldest + CUT > now {
            return Some(oldest + CUT);
        }
        let is_full = self.in_use() >= self.most;
        let holds_for_long =
            |account| self.uses.values().any(|it| it.party.account == account && it.is_long(now));
        let needs_one = |want: &&Want| {
            let not = self.may(want, 0, now).err();
            not.is_some_and(|not| not.cause == Cause::Session)
                && !holds_for_long(want.party.account)
        };
        let waiting: Vec<_> =
            waiting.filter(needs_one).map(|want| (want.party.account, want.meter)).collect();
        let due = |it: &Use| {
            let waits_for = |(account, meter): &(Key, MeterKey)| {
                *account != it.party.account && (is_full || *meter == it.meter)
            };
            it.since + CUT <= now
                && self.costs.may_cut(it.party.domain, now)
                && waiting.iter().any(waits_for)
        };
        let longest = self.uses.values().filter(|it| due(it)).min_by_key(|it| it.since);
        let Some(longest) = longest else { return Some(now + CUT_RETRY_DELAY) };
        longest.cut.cancel();
        self.costs.cut(longest.party, now);
        None
    }

    pub(crate) fn close_idle(&mut self, ends: impl Fn(&IdleSession<S>) -> bool) -> usize {
        let ending: Vec<_> = self.idle.extract_if(.., |idle| ends(idle)).collect();
        let count = ending.len();
        for idle in ending {
            self.meter(idle.meter).idle -= 1;
            (self.close)(idle.session);
        }
        count
    }

    pub(super) fn sweep(&mut self, stored_meters: &[MeterKey], now: Instant) -> usize {
        self.costs.forget(now);
        self.domains.forget(now);
        self.addresses.forget(now);
        self.forget_meters(stored_meters, now);
        let max_idle = self.max_idle;
        self.close_idle(|idle| idle.is_over(max_idle, now))
    }
}
