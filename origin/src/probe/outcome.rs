//! Results of asking a host, or one of its addresses; verdicts for addresses that aren't asked about; and the most
//! informative of several failures.

use std::time::Duration;

use rcpt_shared::{Address, Confidence, Reason, Stage, Status, Verdict};

use crate::dns::mx::NoMailHosts;

/// Time after which to repeat a question whose session was cut, or for which too little time was left. No session of
/// the domain is cut for ten minutes.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(10);

pub(super) enum Outcome {
    Settled(Verdict),
    NextHost(Verdict),
    /// A host of equal preference may reply differently, and the same host after a delay. A backup host isn't tried: it
    /// may accept everything because it knows less, and what kept us from this host isn't this host's doing, or was its
    /// reply about the recipient.
    EqualHost(Verdict, Option<Retry>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Retry {
    pub after: Duration,
    /// True if a new session is needed, because the current one would get the same reply.
    pub afresh: bool,
}

pub(super) fn our_limit(after: Duration) -> Verdict {
    let seconds = u32::try_from(after.as_secs()).unwrap_or(u32::MAX).max(1);
    Verdict {
        retry_after: Some(seconds),
        ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
    }
}

pub(super) fn no_mail_hosts(reason: NoMailHosts) -> Verdict {
    match reason {
        NoMailHosts::DomainNotFound => {
            Verdict::new(Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns)
        }
        NoMailHosts::NullMx => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        NoMailHosts::DnsFailure => dns_failure(),
    }
}

pub(super) fn opted_out() -> Verdict {
    Verdict::new(Status::BlockedByProvider, Reason::OptedOut, Stage::Dns)
}

/// For an address that [`looks_like_relaying`].
pub(super) fn not_asked() -> Verdict {
    Verdict::new(Status::BlockedByProvider, Reason::Unclear, Stage::Dns)
}

pub(super) fn dns_failure() -> Verdict {
    Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns)
}

/// True if the address would look like a search for open relays, which leads to blocklisting. `user%other@`,
/// `other!user@` and `"user@other"@` ask a server to relay mail (RFC 5321 §3.6.1 and appendix C let no server require
/// these forms).
pub(super) fn looks_like_relaying(address: &Address) -> bool {
    address.local_part().contains(['%', '!', '@'])
}

/// The most informative of several hosts' failures: our own, otherwise the failure at the latest stage, and the
/// earliest among equals, because hosts come in order of preference.
#[derive(Default, Clone)]
pub(super) struct BestFailure {
    best: Option<Verdict>,
    /// True if hosts failed for different reasons.
    is_mixed: bool,
    /// True if one of the failures has [`Confidence::None`].
    is_open: bool,
}

impl BestFailure {
    pub(super) fn add(&mut self, failure: Verdict) {
        self.is_mixed |= self.best.as_ref().is_some_and(|best| best.reason != failure.reason);
        let confidence = failure.details.as_ref().map(|details| details.confidence);
        self.is_open |= confidence == Some(Confidence::None);
        if self.best.as_ref().is_none_or(|best| rank(&failure) > rank(best)) {
            self.best = Some(failure);
        }
    }

    pub(super) fn into_verdict(self) -> Verdict {
        // Without hosts there is no address to connect to.
        let mut best = self.best.unwrap_or_else(|| {
            Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
        });
        // RFC 7504: one host accepts no mail, but another host may.
        if self.is_mixed && best.reason == Reason::DomainRefusesMail {
            best.reason = Reason::ServerUnavailable;
        }
        if let Some(details) = best.details.as_mut().filter(|_| self.is_open) {
            details.confidence = Confidence::None;
        }
        best
    }
}

/// Our own limit and a failed lookup outweigh every server's failure: the host that they kept us from may have answered.
fn rank(failure: &Verdict) -> (bool, bool, Stage) {
    let Verdict { stage, reason, .. } = *failure;
    (reason == Reason::OurLimit, reason == Reason::DnsFailure, stage)
}

/// If no host accepts mail (RFC 7504), the domain doesn't either.
pub(super) fn of_domain(failure: Verdict) -> Verdict {
    match failure.reason {
        Reason::DomainRefusesMail => Verdict { status: Status::Refused, ..failure },
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Confidence, Details, Reason, Stage, Status, Verdict};

    use super::BestFailure;

    #[test]
    fn a_domain_has_no_host_that_exists_only_if_none_of_them_does() {
        let nowhere = |confidence| {
            let details = Details { confidence, ..Details::new(None, None) };
            Verdict {
                details: Some(Box::new(details)),
                ..Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
            }
        };
        let best_of = |hosts: &[Confidence]| {
            let mut best = BestFailure::default();
            hosts.iter().for_each(|confidence| best.add(nowhere(*confidence)));
            best.into_verdict().details.unwrap().confidence
        };
        let (high, open) = (Confidence::High, Confidence::None);
        assert_eq!(best_of(&[high, high]), high);
        assert_eq!(best_of(&[high, open]), open);
        assert_eq!(best_of(&[open, high]), open);
    }

    fn best(failures: &[(Reason, Stage)]) -> (Reason, Stage) {
        let mut best = BestFailure::default();
        for (reason, stage) in failures {
            best.add(Verdict::new(Status::SmtpConnectError, *reason, *stage));
        }
        let verdict = best.into_verdict();
        (verdict.reason, verdict.stage)
    }

    #[test]
    fn the_failure_that_came_furthest_is_told() {
        let address = (Reason::NoUsableAddress, Stage::Dns);
        let dns = (Reason::DnsFailure, Stage::Dns);
        let connect = (Reason::ConnectionFailed, Stage::Connect);
        let ours = (Reason::OurLimit, Stage::Connect);
        let banner = (Reason::ServerUnavailable, Stage::Banner);
        let garbage = (Reason::ProtocolError, Stage::Banner);
        assert_eq!(best(&[]), address);
        assert_eq!(best(&[address, dns, address]), dns);
        assert_eq!(best(&[dns, connect]), dns, "the host that we didn't find may have answered");
        assert_eq!(best(&[banner, dns]), dns);
        assert_eq!(best(&[dns, ours]), ours);
        assert_eq!(best(&[connect, ours, connect]), ours);
        assert_eq!(best(&[connect, banner, garbage, connect]), banner);
        assert_eq!(best(&[ours, banner]), ours, "the host that we didn't ask may have answered");
        let closed = (Reason::DomainRefusesMail, Stage::Banner);
        assert_eq!(best(&[closed, closed]), closed);
        assert_eq!(best(&[closed, connect]), banner, "another host may take mail");
        assert_eq!(best(&[connect, closed]), banner);
    }
}
