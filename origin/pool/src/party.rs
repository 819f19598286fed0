//! The party for which a session is used.

use super::Key;

/// Keys of different kinds are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Party {
    /// A paying account, or all free accounts together.
    pub group: Key,
    pub account: Key,
    pub domain: Key,
    /// True if anybody can get a mailbox at the domain, so that no recipient there represents its
    /// owner.
    pub is_consumer: bool,
}
