//! What a genuine credential says: whose it is, of which kind, and which of the account's successive ones.

use super::{
    api_key::KeyIdentity,
    session::{Session, SessionId},
};
use crate::{account::AccountId, error::Error};

/// A caller with a genuine API key or session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller {
    pub account: AccountId,
    pub proof: Proof,
}

/// What the caller showed: the key, whose version must still be the account's, or the session, which must
/// still live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    Key { version: u32 },
    Session { id: SessionId },
}

impl From<KeyIdentity> for Caller {
    fn from(key: KeyIdentity) -> Self {
        Self { account: key.account, proof: Proof::Key { version: key.version } }
    }
}

impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        Self { account: session.account, proof: Proof::Session { id: session.id } }
    }
}

impl Caller {
    /// Whose rate the request counts towards first: the session itself, or the key's version. A flood with a stolen
    /// session, or one that has ended, leaves the owner's own alone.
    pub fn party(self) -> String {
        match self.proof {
            Proof::Key { version } => format!("{} by key {version}", self.account),
            Proof::Session { id } => format!("session {id}"),
        }
    }

    /// Whose rate it counts towards behind that: all sessions of the account, or its keys. Keys have one of their own: a
    /// flood with a stolen key must not keep its owner, who is signed in, from replacing it.
    pub fn wider_party(self) -> String {
        match self.proof {
            Proof::Key { .. } => format!("{} by key", self.account),
            Proof::Session { .. } => self.account.to_string(),
        }
    }
}

impl Proof {
    /// How SQL tells the kinds apart.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Key { .. } => "key",
            Self::Session { .. } => "session",
        }
    }

    /// Keys are counted from 1; 0 for a session.
    pub const fn key_version(self) -> u32 {
        match self {
            Self::Key { version } => version,
            Self::Session { .. } => 0,
        }
    }

    /// What to answer when the database does not know this key or session any more.
    pub fn refused(self) -> Error {
        match self {
            Self::Key { .. } => Error::invalid_api_key(),
            Self::Session { .. } => Error::invalid_session(),
        }
    }
}
