//! A check, the session that it needs, and the reasons to refuse a check.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rcpt_shared::{Address, FREE};
use tokio::time::Instant;

use super::SourceClass;

/// A check: the address, the asker, and how long to wait for a session. Built once from the ticket and the body, and
/// borrowed by all lower layers.
#[derive(Debug, Clone)]
pub struct Question {
    pub address: Address,
    /// True if the verdict's details are requested.
    pub details: bool,
    pub asker: Asker,
    pub wait: Wait,
}

/// The account for which a check is made, and its group for fair sharing.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// Name of the account; `None` if the edge sends none.
    pub account: Option<Arc<str>>,
    /// Name of the group for fair sharing: the account itself if it pays, otherwise one group for all free accounts.
    /// `None` if the edge sends no group; then no share limits the check.
    pub fairness_group: Option<Arc<str>>,
}

impl Asker {
    /// The class of source addresses that this check may use.
    pub fn class(&self) -> SourceClass {
        match self.fairness_group.as_deref() {
            Some(FREE) => SourceClass::Free,
            _ => SourceClass::Known,
        }
    }
}

/// Kind of request that waits, and the latest time to wait for a session.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// A client waits for this single verdict.
    Interactive(Instant),
    /// An address in a list. The address's own budget starts when it gets a session.
    InBatch(Instant),
}

/// Urgency of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Interactive,
    /// Served after interactive checks, but gets one session in ten while both classes wait.
    Batch,
}

impl Wait {
    pub const fn class(self) -> Class {
        match self {
            Self::Interactive(_) => Class::Interactive,
            Self::InBatch(_) => Class::Batch,
        }
    }

    /// The latest time to wait for a session.
    pub const fn deadline(self) -> Instant {
        let (Self::Interactive(deadline) | Self::InBatch(deadline)) = self;
        deadline
    }
}

/// Destination of a session.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// Name of the mail host.
    pub host: &'a str,
    /// Addresses of the host, in the order in which to try them.
    pub addresses: &'a [SocketAddr],
    /// Index of the identity to use.
    pub identity: usize,
    /// True for a configured route, to which no limits apply.
    pub is_route: bool,
    /// True if the check has already passed the domain's gate.
    pub admitted: bool,
    /// True to open a new session, because idle sessions were unusable.
    pub afresh: bool,
}

/// No session is available now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Time after which another attempt may succeed.
    pub after: Duration,
    pub cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The recipient's domain has refused us recently, or the account is in debt.
    Domain,
    /// The host's address has refused us recently; its other addresses may accept us.
    Address,
    /// A limit of refused recipients has been reached.
    Refusals,
    /// Our source address is new to the operator.
    WarmUp,
    /// Too many requests are waiting already.
    Crowded,
}

/// A server's reaction, which affects later checks. Each reaction at RCPT but an acceptance counts as a refused
/// recipient, whatever its words: the server's own count doesn't depend on whether we understand it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal<'a> {
    /// The server replied about the recipient.
    Answered {
        refused: bool,
    },
    Refused(Refusal<'a>),
    /// The server refused the recipient in words that have no further consequence.
    Unread,
}

/// The server refused us, which says nothing about the recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// True before any recipient was named: the refusal is the machine's, not a domain's.
    pub before_rcpt: bool,
    /// True for 421: the server closes the connection.
    pub closing: bool,
    /// True if the words are about our address, its name or its reputation.
    pub about_our_address: bool,
    /// True if the words are about the server's own load or trouble. A ban has other words.
    pub is_trouble: bool,
    /// Time for which the server asked us to stay away.
    pub hint: Option<Duration>,
    /// The reply's meaning in words of our own tables.
    pub words: &'a str,
}
