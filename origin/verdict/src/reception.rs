//! How a server treats us, according to a reply; the pool uses it to decide when to connect again.

use rcpt_smtp::Reply;

use super::{Rule, retry};

/// Extent of a refusal beyond the recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// No consequence for the next recipient.
    Nothing,
    /// Our address, its name or its reputation: every recipient there gets the same reply.
    OurAddress,
    /// A rule that may belong to the recipient or its domain: other domains there get other
    /// replies.
    DomainRule,
    Rate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reception {
    pub scope: Scope,
    /// Seconds for which the text asks us to stay away.
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
