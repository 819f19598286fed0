//! Of the failures met on the way from host to host, the one that says most.

use rcpt_shared::{Reason, Stage, Status, Verdict};

/// The failure that says most, of those that were met on the way from host to host: the one that came
/// furthest, the earlier one among equals, because hosts come in order of preference.
#[derive(Default)]
pub(super) struct BestFailure(Option<Verdict>);

impl BestFailure {
    pub(super) fn add(&mut self, failure: Verdict) {
        if self.0.as_ref().is_none_or(|best| rank(&failure) > rank(best)) {
            self.0 = Some(failure);
        }
    }

    pub(super) fn into_verdict(self) -> Verdict {
        // Without a host there is no address.
        self.0.unwrap_or_else(|| {
            Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
        })
    }
}

/// At one stage a failure of ours outweighs one of theirs: "we could not find its address" leaves open
/// what "it has none" settles.
fn rank(failure: &Verdict) -> (Stage, bool) {
    (failure.stage, matches!(failure.reason, Reason::DnsFailure | Reason::OurLimit))
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Reason, Stage, Status, Verdict};

    use super::BestFailure;

    fn told(failures: &[(Reason, Stage)]) -> (Reason, Stage) {
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
        assert_eq!(told(&[]), address);
        assert_eq!(told(&[address, dns, address]), dns);
        assert_eq!(told(&[dns, connect]), connect);
        assert_eq!(told(&[connect, ours, connect]), ours);
        assert_eq!(told(&[connect, banner, garbage, connect]), banner);
    }
}
