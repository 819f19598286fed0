//! What is wanted of the pool, and why it may be refused.

use std::{net::SocketAddr, time::Duration};

use tokio::time::Instant;

/// How urgent a question is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Somebody waits for this one answer.
    Interactive,
    /// One of a list. It gives way, and a tenth of the sessions is kept for it.
    Batch,
}

/// A session with a mail host, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Name of the mail host.
    pub host: &'a str,
    /// Its addresses, in the order in which to try them.
    pub addresses: &'a [SocketAddr],
    /// The recipient's domain.
    pub domain: &'a str,
    /// Who asks us; `None` where the edge does not tell, which no share of tenants then limits.
    pub tenant: Option<&'a str>,
    /// Which account of the tenant; all free ones are one tenant.
    pub account: Option<&'a str>,
    pub class: Class,
    /// A configured route is trusted to bear whatever it is asked.
    pub is_route: bool,
    /// The probe has passed the gate of the domain already.
    pub admitted: bool,
    /// In a session of its own: those that lay idle were of no use to it.
    pub afresh: bool,
    /// Other hosts are left to ask, so this one is not waited for.
    pub more_hosts: bool,
    /// Until when it is worth waiting.
    pub deadline: Instant,
}

/// No session for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// When it is worth asking again.
    pub after: Duration,
    pub cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The recipient's domain refused us lately.
    Domain,
    /// This address of the host refused us lately; another may not have.
    Address,
    /// As many refused recipients as may be in an hour.
    Refusals,
    /// Our address is new to the operator.
    WarmUp,
    /// Too many wait already.
    Crowded,
}

/// How a question was received, for the questions that come after it.
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
    /// How long we are asked to stay away.
    pub hint: Option<Duration>,
    /// What was said, without names and addresses.
    pub words: &'a str,
}
