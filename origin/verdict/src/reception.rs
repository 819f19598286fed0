//! Reception by a server, as a reply shows it, for the pool that decides when to come again.

use rcpt_smtp::Reply;

use super::{Rule, retry};

/// Whom a refusal is about, besides the recipient that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Of no concern for the next question.
    Nothing,
    /// Our address, its name or its reputation: every recipient there gets the same answer.
    OurAddress,
    /// A rule that may be of the recipient or its domain: other domains there get another answer.
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

    pub(super) fn of(rule: &Rule, reply: &Reply) -> Self {
        let scope = match rule.scope {
            Scope::Nothing if reply.code == 421 => Scope::Rate,
            scope => scope,
        };
        let hint = if scope == Scope::Nothing { None } else { retry::hint(reply.beginning()) };
        Self { scope, hint }
    }
}
