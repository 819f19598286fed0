//! A question, the session that is wanted for it, and the reasons to refuse one.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rcpt_shared::{Address, FREE};
use tokio::time::Instant;

use super::SourceClass;

/// A question: the address, its asker, and how long to wait for an answer. It is made once, from the ticket and the
/// body, and lent to everything below.
#[derive(Debug, Clone)]
pub struct Question {
    pub address: Address,
    /// The verdict is wanted with its details.
    pub details: bool,
    pub asker: Asker,
    pub wait: Wait,
}

/// The party that asks.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    /// The account; `None` where the edge names none.
    pub account: Option<Arc<str>>,
    /// The name the account is counted under wherever groups are: its own if it pays, one for all free
    /// accounts together. `None` where the edge names none, which no share then limits.
    pub fairness_group: Option<Arc<str>>,
}

impl Asker {
    /// Class of source addresses that this question may use.
    pub fn class(&self) -> SourceClass {
        match self.fairness_group.as_deref() {
            Some(FREE) => SourceClass::Free,
            _ => SourceClass::Known,
        }
    }
}

/// Kind of wait for an answer, and the latest time to wait for a session.
#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// Somebody waits for this one answer.
    Interactive(Instant),
    /// An address of a list. Its own budget begins when it has a session.
    InBatch(Instant),
}

/// Urgency of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Interactive,
    /// Comes after interactive checks, with a tenth of the sessions reserved.
    Batch,
}

impl Wait {
    pub const fn class(self) -> Class {
        match self {
            Self::Interactive(_) => Class::Interactive,
            Self::InBatch(_) => Class::Batch,
        }
    }

    /// Latest time to wait for a session.
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
    /// Its addresses, in the order in which to try them.
    pub addresses: &'a [SocketAddr],
    /// Index of the identity to ask under.
    pub identity: usize,
    /// True for a configured route, which is trusted to bear any load.
    pub is_route: bool,
    /// The question has passed the gate of the domain already.
    pub admitted: bool,
    /// True to ask in a new session: idle ones were of no use.
    pub afresh: bool,
    /// True if other hosts are left to ask, so this one isn't waited for.
    pub more_hosts: bool,
}

/// No session for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Time after which asking again may succeed.
    pub after: Duration,
    pub cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The recipient's domain refused us lately.
    Domain,
    /// This address of the host refused us lately; another may not have.
    Address,
    /// The refused recipients of an hour are used up.
    Refusals,
    /// Our address is new to the operator.
    WarmUp,
    /// Too many wait already.
    Crowded,
}

/// Reception of a question, for the questions that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal<'a> {
    /// The recipient was spoken about, and refused or not.
    Answered {
        refused: bool,
    },
    Refused(Refusal<'a>),
}

/// We were refused, which says nothing about the recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// No recipient had been named yet: it is the machine that speaks, and no domain.
    pub before_rcpt: bool,
    /// 421: the server closes the connection.
    pub closing: bool,
    /// The words are about our address, its name or its reputation.
    pub about_our_address: bool,
    /// Time for which the server asked us to stay away.
    pub hint: Option<Duration>,
    /// Words of the reply, without names and addresses.
    pub words: &'a str,
}
