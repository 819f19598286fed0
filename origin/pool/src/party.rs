//! For whom a session is used.

use super::Key;

/// For whom a session is used. Keys of different kinds are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Party {
    /// A paying account, or all free accounts together.
    pub group: Key,
    pub account: Key,
    pub domain: Key,
    /// The domain has mailboxes for everybody, so no recipient there speaks for it.
    pub is_consumer: bool,
}
