//! What a reply tells of how we are received, for the pool that decides when we come again.

use rcpt_shared::{Reason, Status};

use super::retry;
use crate::smtp::Reply;

/// Whom a refusal is about, besides the recipient that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Nothing that concerns the next question.
    Nothing,
    /// Our address, its name or its reputation: every recipient there gets the same answer.
    OurAddress,
    /// A rule of the recipient or its domain: the neighbours of that domain get another answer.
    DomainRule,
    /// Too often or too much, or a server that closes the connection: 421.
    Rate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    pub scope: Scope,
    /// Seconds that the text asks us to stay away.
    pub hint: Option<u32>,
}

impl Reception {
    pub(super) const NONE: Self = Self { scope: Scope::Nothing, hint: None };

    /// `is_guess`: the reply was read by a word too weak to tell how we are received.
    pub(super) fn of(status: Status, reason: Reason, is_guess: bool, reply: &Reply) -> Self {
        let scope = match reason {
            _ if reply.code == 421 => Scope::Rate,
            _ if is_guess => Scope::Nothing,
            Reason::Greylisted | Reason::RelayDenied => Scope::DomainRule,
            Reason::RateLimited => Scope::Rate,
            _ if status == Status::BlockedByProvider => Scope::OurAddress,
            _ => Scope::Nothing,
        };
        let hint = if scope == Scope::Nothing { None } else { retry::hint(reply.text()) };
        Self { scope, hint }
    }
}
