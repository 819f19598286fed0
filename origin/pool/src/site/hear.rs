//! A site's conclusions from servers' replies.

use tokio::time::Instant;

use super::Here;
use crate::{
    limits::rate::Change,
    question::{Party, Refusal, Signal, Want},
};

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
        if is_refused_recipient(signal) {
            meter.totals.refused += 1;
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
        meter.totals.refusals_of_us += 1;
        if refusal.about_our_address && before_rcpt && want.site.is_network() {
            meter.rate.hear_machine(domain, words, now)
        } else if refusal.about_our_address || refusal.about_our_rate {
            meter.rate.hear_words((group, evidence), domain, words, now)
        } else {
            None
        }
    }
}

/// Each reply at RCPT but an acceptance, whatever its words.
const fn is_refused_recipient(signal: Signal<'_>) -> bool {
    match signal {
        Signal::Answered { refused } => refused,
        Signal::AcceptedLikeAny => false,
        Signal::Refused(refusal) => !refusal.before_rcpt,
        Signal::Unread => true,
    }
}
