//! Contents of a genuine credential: account, kind and version.

use super::{
    api_key::{ApiKey, KeyId},
    session::{Session, SessionId},
};
use crate::{account::AccountId, error::Error};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller {
    pub account: AccountId,
    pub proof: Proof,
}

/// The presented credential: a key, whose version must work, or a session, which must be alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    Key { id: KeyId, version: u32, is_test: bool },
    Session { id: SessionId },
}

impl From<ApiKey> for Caller {
    fn from(key: ApiKey) -> Self {
        let ApiKey { account, id, version, rights, .. } = key;
        Self { account, proof: Proof::Key { id, version, is_test: rights.is_test() } }
    }
}

impl From<Session> for Caller {
    fn from(session: Session) -> Self {
        Self { account: session.account, proof: Proof::Session { id: session.id } }
    }
}

impl Caller {
    /// The party whose rate is counted first: the session or this version of the key. A flood with a stolen or ended
    /// one doesn't slow the owner's own.
    pub fn party(self) -> String {
        match self.proof {
            Proof::Key { id, version, .. } => format!("{} by key {id} {version}", self.account),
            Proof::Session { id } => format!("session {id}"),
        }
    }

    /// All sessions or all keys of the account: a flood with a stolen key can't keep its owner from replacing it.
    pub fn wider_party(self) -> String {
        match self.proof {
            Proof::Key { .. } => format!("{} by key", self.account),
            Proof::Session { .. } => self.account.to_string(),
        }
    }
}

impl Proof {
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Key { .. } => "key",
            Self::Session { .. } => "session",
        }
    }

    pub const fn is_test(self) -> bool {
        matches!(self, Self::Key { is_test: true, .. })
    }

    /// The text that SQL compares: a session's id, or a key's id and its version in eight hexadecimal digits.
    pub fn text(self) -> String {
        match self {
            Self::Key { id, version, .. } => format!("{id}{version:08x}"),
            Self::Session { id } => id.to_string(),
        }
    }

    pub fn to_error(self) -> Error {
        match self {
            Self::Key { .. } => Error::invalid_api_key(),
            Self::Session { .. } => Error::invalid_session(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Caller, Proof};
    use crate::{
        account::AccountId,
        credentials::{api_key::KeyId, session::SessionId},
    };

    #[test]
    fn each_session_and_each_version_of_a_key_is_a_party_and_an_accounts_keys_are_another_one() {
        let (key, other) = (KeyId::from_random([1; 8]), KeyId::from_random([2; 8]));
        let keys = [(key, 1), (key, 2), (other, 1)].map(|(id, version)| Proof::Key {
            id,
            version,
            is_test: false,
        });
        let sessions =
            [[3; 16], [4; 16]].map(|id| Proof::Session { id: SessionId::from_random(id) });
        let proofs = || keys.into_iter().chain(sessions);
        let of = |account| {
            proofs().map(move |proof| Caller { account: AccountId::from_u64(account), proof })
        };
        let texts: HashSet<_> = proofs().map(Proof::text).collect();
        let parties: HashSet<_> = of(1).map(Caller::party).collect();
        assert_eq!((texts.len(), parties.len()), (5, 5), "{parties:?}");
        let kinds: Vec<_> = proofs().map(|proof| (proof.kind(), proof.is_test())).collect();
        assert_eq!((kinds[0], kinds[4]), (("key", false), ("session", false)));
        assert!(Proof::Key { id: key, version: 1, is_test: true }.is_test());
        let wider: HashSet<_> = of(1).chain(of(2)).map(Caller::wider_party).collect();
        assert_eq!(wider.len(), 4, "keys and sessions of two accounts: {wider:?}");
        assert!(wider.is_disjoint(&parties));
    }
}
