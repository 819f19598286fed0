//! Verdicts for addresses for which no mail server is contacted.

use rcpt_shared::{Address, Reason, Stage, Status, Verdict};

use crate::dns::mx::NoMailHosts;

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
