//! A domain's mail hosts, and whether it accepts mail.

use std::sync::Arc;

use rcpt_shared::{Confidence, Reason, Stage, Status, Verdict};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailRoute {
    /// Names, in lower case if they are from DNS; empty for a domain without MX records.
    pub hosts: Vec<Arc<str>>,
    pub accepts_mail: Option<bool>,
    /// True without an MX record: the domain's own address, if it has one, accepts its mail.
    pub is_implicit: bool,
}

impl MailRoute {
    #[must_use]
    pub fn configured(host: Option<&str>) -> Self {
        Self {
            hosts: host.into_iter().map(Arc::from).collect(),
            accepts_mail: Some(host.is_some()),
            is_implicit: false,
        }
    }

    #[must_use]
    pub fn after(self, verdict: &Verdict) -> Self {
        let confidence =
            verdict.details.as_ref().map_or(Confidence::None, |details| details.confidence);
        let accepts_mail = match verdict.reason {
            Reason::DomainRefusesMail => Some(false),
            // None of the hosts named in DNS exists.
            Reason::NoUsableAddress if confidence == Confidence::High => Some(false),
            Reason::DnsFailure => None,
            _ if !self.is_implicit => self.accepts_mail,
            _ if verdict.status == Status::NoMxRecords => {
                (verdict.stage == Stage::Dns).then_some(false)
            }
            _ if verdict.stage > Stage::Connect => Some(true),
            _ => self.accepts_mail,
        };
        Self { accepts_mail, ..self }
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Confidence, Details, Reason, Stage, Status, Verdict};

    use super::MailRoute;

    #[test]
    fn the_probe_knows_more_of_a_domain_without_mx_records_and_of_hosts_that_do_not_exist() {
        let implicit = || MailRoute { is_implicit: true, ..MailRoute::default() };
        let explicit = || MailRoute::configured(Some("mx.example"));
        let of = |status, reason, stage| Verdict::new(status, reason, stage);
        let mut unusable = of(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns);
        assert_eq!(explicit().after(&unusable).accepts_mail, Some(true));
        let details = Details { confidence: Confidence::High, ..Details::new(None, None) };
        unusable.details = Some(Box::new(details));
        assert_eq!(explicit().after(&unusable).accepts_mail, Some(false));
        for (verdict, accepts) in [
            (of(Status::NoMxRecords, Reason::NoMx, Stage::Dns), Some(false)),
            (of(Status::NoMxRecords, Reason::NoMx, Stage::Connect), None),
            (of(Status::Accepted, Reason::Accepted, Stage::Rcpt), Some(true)),
            (of(Status::FatalException, Reason::DnsFailure, Stage::Dns), None),
            (of(Status::SmtpTimeout, Reason::Timeout, Stage::Connect), None),
        ] {
            assert_eq!(implicit().after(&verdict).accepts_mail, accepts, "{verdict:?}");
        }
        let refused = of(Status::Refused, Reason::DomainRefusesMail, Stage::Rcpt);
        assert_eq!(explicit().after(&refused).accepts_mail, Some(false));
    }
}
