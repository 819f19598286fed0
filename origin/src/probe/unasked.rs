//! Verdicts on addresses that no mail server was asked about.

use rcpt_shared::{Address, Reason, Stage, Status, Verdict};

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

/// The verdict on a domain whose operator has opted out: no connection was made.
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

/// Whether a mail server would take the question for a search for open relays, which blocklists list: `user%other@`,
/// `other!user@` and `"user@other"@` ask it to pass mail on (RFC 5321 §3.6.1 and appendix C let no server need them).
pub(super) fn looks_like_relaying(address: &Address) -> bool {
    address.local_part().contains(['%', '!', '@'])
}
