//! Contents of a genuine credential: account, kind and version.

use std::net::{IpAddr, Ipv6Addr};

use super::{
    api_key::KeyIdentity,
    key_networks,
    named_key::{KeyId, NamedKey},
    session::{Session, SessionId},
};
use crate::{account::AccountId, error::Error};

/// A caller with a genuine API key or session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller {
    pub account: AccountId,
    pub proof: Proof,
}

/// The presented credential: a key, whose version must be current, or a session, which must be
/// alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    Key {
        version: u32,
    },
    /// `from` is the client's address, since a key may be restricted to networks; `None` if
    /// unknown.
    Named {
        id: KeyId,
        version: u16,
        is_test: bool,
        from: Option<IpAddr>,
    },
    Session {
        id: SessionId,
    },
}

impl From<KeyIdentity> for Caller {
    fn from(key: KeyIdentity) -> Self {
        Self { account: key.account, proof: Proof::Key { version: key.version } }
    }
}

impl Caller {
    /// The caller for a named key sent from this address.
    pub const fn of_named(key: NamedKey, from: Option<IpAddr>) -> Self {
        let NamedKey { account, id, version, is_test, .. } = key;
        Self { account, proof: Proof::Named { id, version, is_test, from } }
    }

    /// The same caller without the client's address.
    #[must_use]
    pub const fn anywhere(self) -> Self {
        match self.proof {
            Proof::Named { id, version, is_test, .. } => {
                Self { proof: Proof::Named { id, version, is_test, from: None }, ..self }
            }
            Proof::Key { .. } | Proof::Session { .. } => self,
        }
    }
}

impl Caller {
    /// The same caller at the first address of the client's /64; an IPv4 address stays. An IPv6 client has as many
    /// addresses as it likes.
    #[must_use]
    pub fn in_network(self) -> Self {
        let Proof::Named { id, version, is_test, from } = self.proof else { return self };
        let from = from.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address @ IpAddr::V4(_) => address,
        });
        Self { proof: Proof::Named { id, version, is_test, from }, ..self }
    }
}

impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        Self { account: session.account, proof: Proof::Session { id: session.id } }
    }
}

impl Caller {
    /// The party whose rate is counted first: the session, this version of the first key, or all versions of the named
    /// key. A flood with a stolen or ended session doesn't slow the owner's own session.
    pub fn party(self) -> String {
        match self.proof {
            Proof::Key { version } => format!("{} by key {version}", self.account),
            Proof::Named { id, .. } => format!("{} by key {id}", self.account),
            Proof::Session { id } => format!("session {id}"),
        }
    }

    /// The party whose rate is counted next: all sessions or all keys of the account. Keys are counted separately, so
    /// that a flood with a stolen key can't stop the signed-in owner from replacing it.
    pub fn wider_party(self) -> String {
        match self.proof {
            Proof::Key { .. } | Proof::Named { .. } => format!("{} by key", self.account),
            Proof::Session { .. } => self.account.to_string(),
        }
    }
}

impl Proof {
    /// The kind's name in SQL.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Key { .. } => "key",
            Self::Named { .. } => "named",
            Self::Session { .. } => "session",
        }
    }

    /// The first key's version, from 1; 0 for a session or a named key.
    pub const fn key_version(self) -> u32 {
        match self {
            Self::Key { version } => version,
            Self::Named { .. } | Self::Session { .. } => 0,
        }
    }

    /// Id of the named key; `None` for the first key or a session.
    pub const fn named_key(self) -> Option<KeyId> {
        match self {
            Self::Named { id, .. } => Some(id),
            Self::Key { .. } | Self::Session { .. } => None,
        }
    }

    /// True for a test key.
    pub const fn is_test(self) -> bool {
        matches!(self, Self::Named { is_test: true, .. })
    }

    /// The text that SQL compares: a session's id, or a named key's id, its version in four hexadecimal digits and the
    /// client's address. Empty for the first key, whose version is passed as a number.
    pub fn text(self) -> String {
        match self {
            Self::Key { .. } => String::new(),
            Self::Named { id, version, from, .. } => {
                let from = from.map(key_networks::comparable).unwrap_or_default();
                format!("{id}{version:04x}{from}")
            }
            Self::Session { id } => id.to_string(),
        }
    }

    /// The error for a key or session that the database no longer knows.
    pub fn to_error(self) -> Error {
        match self {
            Self::Key { .. } | Self::Named { .. } => Error::invalid_api_key(),
            Self::Session { .. } => Error::invalid_session(),
        }
    }
}
