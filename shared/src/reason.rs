//! Reason for a verdict, for programs.

use serde::{Deserialize, Serialize};

use crate::names::names;

/// Reason for a verdict: the tables of `docs/verdicts.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    // Statements of the recipient's server about the recipient.
    Accepted,
    AcceptedCatchAll,
    /// Accepted by an operator that accepts every recipient at RCPT and refuses later, if at all.
    AcceptedByOperatorPolicy,
    NoSuchMailbox,
    DomainRefusesMail,
    MailboxDisabled,
    MailboxFull,
    /// The address exists, and accepts mail only from inside its organisation.
    Restricted,
    /// The mailbox exists but currently gets more mail than the server accepts for it.
    MailboxBusy,
    // Statements of the recipient's server about us.
    Blocked,
    RateLimited,
    ReverseDnsRequired,
    RelayDenied,
    Greylisted,
    /// The owner of the domain or of its mail server has opted out: no connection was made.
    OptedOut,
    // The recipient's server was unreachable, or its replies or its encryption made no sense.
    ServerUnavailable,
    ProtocolError,
    Smtputf8Unsupported,
    ConnectionFailed,
    Timeout,
    // Results of DNS for the domain.
    DomainNotFound,
    /// A single `MX 0 .` (RFC 7505).
    NullMx,
    /// Neither MX nor address records, or an unreachable implicit MX (RFC 5321 §5.1).
    NoMx,
    /// MX hosts exist, but none has an address that we may connect to.
    NoUsableAddress,
    // Failures on our side.
    DnsFailure,
    OurLimit,
    /// The server's reply is neither about the recipient nor about us, or a newer origin has sent an unknown reason.
    #[serde(other)]
    Unclear,
}

names! { Reason:
    Accepted = "accepted",
    AcceptedCatchAll = "accepted_catch_all",
    AcceptedByOperatorPolicy = "accepted_by_operator_policy",
    NoSuchMailbox = "no_such_mailbox",
    DomainRefusesMail = "domain_refuses_mail",
    MailboxDisabled = "mailbox_disabled",
    MailboxFull = "mailbox_full",
    Restricted = "restricted",
    MailboxBusy = "mailbox_busy",
    Blocked = "blocked",
    RateLimited = "rate_limited",
    ReverseDnsRequired = "reverse_dns_required",
    RelayDenied = "relay_denied",
    Greylisted = "greylisted",
    OptedOut = "opted_out",
    Unclear = "unclear",
    ServerUnavailable = "server_unavailable",
    ProtocolError = "protocol_error",
    Smtputf8Unsupported = "smtputf8_unsupported",
    ConnectionFailed = "connection_failed",
    Timeout = "timeout",
    DomainNotFound = "domain_not_found",
    NullMx = "null_mx",
    NoMx = "no_mx",
    NoUsableAddress = "no_usable_address",
    DnsFailure = "dns_failure",
    OurLimit = "our_limit",
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
