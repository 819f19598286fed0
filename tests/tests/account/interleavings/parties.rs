//! Parties of a scenario, and how it begins.

/// Somebody who acts at the same time as others.
#[derive(Debug, Clone, Copy)]
pub(super) enum Party {
    /// Opens the link of the registration at this index, with this password.
    Click(usize, &'static str),
    /// Registers the first address again.
    Register(&'static str),
    /// Registers the first address and opens the link.
    Newcomer,
    /// The same at the address to which the account is moving.
    NewcomerThere,
    Scheduled,
    Delete,
    /// Resets the password with a link that was mailed before.
    Reset,
}

/// The world before the parties begin.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// Registrations of these addresses, with the password of all tests.
    Registered(&'static [&'static str]),
    /// A confirmed account.
    Account,
    /// A confirmed account whose registration is still there: the last trip of the confirmation was cut off.
    Unfinished,
    /// A confirmed account whose change of address is due.
    Due,
}

impl Party {
    /// Index of the address at which it acts.
    pub(super) fn link(self) -> usize {
        match self {
            Self::Click(link, _) => link,
            Self::NewcomerThere => 1,
            _ => 0,
        }
    }
}
