//! Why a verdict is what it is, as a machine reads it.

use serde::{Deserialize, Serialize};

/// Why a verdict is what it is: the tables of `docs/verdicts.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    // The recipient's server spoke about the recipient.
    Accepted,
    AcceptedCatchAll,
    /// By an operator that accepts every recipient at RCPT and refuses later, if at all.
    AcceptedByOperatorPolicy,
    NoSuchMailbox,
    DomainRefusesMail,
    MailboxDisabled,
    MailboxFull,
    // The recipient's server spoke about us.
    Blocked,
    RateLimited,
    ReverseDnsRequired,
    RelayDenied,
    Greylisted,
    /// The owner of the domain or of its mail server asked us not to ask: no connection was made.
    OptedOut,
    // The recipient's server could not be asked, or made no sense.
    ServerUnavailable,
    ProtocolError,
    Smtputf8Unsupported,
    ConnectionFailed,
    TlsFailed,
    Timeout,
    // DNS answered for the domain.
    DomainNotFound,
    /// A single `MX 0 .` (RFC 7505).
    NullMx,
    /// Neither MX nor address records, or an implicit MX (RFC 5321 §5.1) that cannot be reached.
    NoMx,
    /// MX hosts exist, and none has an address that may be dialled.
    NoUsableAddress,
    // Our side.
    DnsFailure,
    OurLimit,
    /// The server said nothing about the recipient, and nothing about us. An edge also reads a reason so that a newer
    /// origin has and it does not know.
    #[serde(other)]
    Unclear,
}

impl Reason {
    /// Every reason, for metric labels and for tests that must have seen each.
    pub const ALL: [Self; 26] = [
        Self::Accepted,
        Self::AcceptedCatchAll,
        Self::AcceptedByOperatorPolicy,
        Self::NoSuchMailbox,
        Self::DomainRefusesMail,
        Self::MailboxDisabled,
        Self::MailboxFull,
        Self::Blocked,
        Self::RateLimited,
        Self::ReverseDnsRequired,
        Self::RelayDenied,
        Self::Greylisted,
        Self::OptedOut,
        Self::Unclear,
        Self::ServerUnavailable,
        Self::ProtocolError,
        Self::Smtputf8Unsupported,
        Self::ConnectionFailed,
        Self::TlsFailed,
        Self::Timeout,
        Self::DomainNotFound,
        Self::NullMx,
        Self::NoMx,
        Self::NoUsableAddress,
        Self::DnsFailure,
        Self::OurLimit,
    ];

    /// The wire form.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedCatchAll => "accepted_catch_all",
            Self::AcceptedByOperatorPolicy => "accepted_by_operator_policy",
            Self::NoSuchMailbox => "no_such_mailbox",
            Self::DomainRefusesMail => "domain_refuses_mail",
            Self::MailboxDisabled => "mailbox_disabled",
            Self::MailboxFull => "mailbox_full",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate_limited",
            Self::ReverseDnsRequired => "reverse_dns_required",
            Self::RelayDenied => "relay_denied",
            Self::Greylisted => "greylisted",
            Self::OptedOut => "opted_out",
            Self::Unclear => "unclear",
            Self::ServerUnavailable => "server_unavailable",
            Self::ProtocolError => "protocol_error",
            Self::Smtputf8Unsupported => "smtputf8_unsupported",
            Self::ConnectionFailed => "connection_failed",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::DomainNotFound => "domain_not_found",
            Self::NullMx => "null_mx",
            Self::NoMx => "no_mx",
            Self::NoUsableAddress => "no_usable_address",
            Self::DnsFailure => "dns_failure",
            Self::OurLimit => "our_limit",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn the_name_is_the_wire_form() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }
}
