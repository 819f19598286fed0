//! Content of a genuine credential: its account, its kind and its version.

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

/// The presented credential: the key, whose version must be current, or the session, which must be alive.
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
    /// Party whose rate is counted first: the session itself, or the key's version. A flood with a stolen or ended
    /// session leaves the owner's own session alone.
    pub fn party(self) -> String {
        match self.proof {
            Proof::Key { version } => format!("{} by key {version}", self.account),
            Proof::Session { id } => format!("session {id}"),
        }
    }

    /// Party whose rate is counted next: all sessions of the account, or its keys. Keys are counted apart, so that a
    /// flood with a stolen key can't keep its signed-in owner from replacing it.
    pub fn wider_party(self) -> String {
        match self.proof {
            Proof::Key { .. } => format!("{} by key", self.account),
            Proof::Session { .. } => self.account.to_string(),
        }
    }
}

impl Proof {
    /// Name of the kind in SQL.
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

    /// Error for a key or session that the database no longer knows.
    pub fn refused(self) -> Error {
        match self {
            Self::Key { .. } => Error::invalid_api_key(),
            Self::Session { .. } => Error::invalid_session(),
        }
    }
}
