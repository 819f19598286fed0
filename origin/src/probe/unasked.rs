//! Verdicts on addresses that no mail server was asked about.

use rcpt_shared::{Reason, Stage, Status, Verdict};

use crate::mx::NoMailHosts;

pub(super) fn no_mail_hosts(reason: NoMailHosts) -> Verdict {
    match reason {
        NoMailHosts::DomainNotFound => {
            Verdict::new(Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns)
        }
        NoMailHosts::NullMx => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        NoMailHosts::DnsFailure => dns_failure(),
    }
}

/// The verdict on a domain whose operator does not want to be asked: no connection was made.
pub(super) fn opted_out() -> Verdict {
    Verdict::new(Status::BlockedByProvider, Reason::OptedOut, Stage::Dns)
}

/// The verdict on an address that no server is asked about.
pub(super) fn not_asked() -> Verdict {
    Verdict::new(Status::BlockedByProvider, Reason::Unclear, Stage::Dns)
}

pub(super) fn dns_failure() -> Verdict {
    Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns)
}
