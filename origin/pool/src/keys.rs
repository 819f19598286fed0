//! Keys: keyed hashes of names, and the units of shared limits, which are sites and the meters within them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

/// Keyed hash of a name or an address, stored in its place.
pub(crate) type Key = u64;

/// Secret that is hashed before each value, so that outsiders can't find values with equal hashes.
#[derive(Clone, Copy)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// The same numbers give the same hashes in all processes of one build.
    pub const fn new(secret: [u64; 2]) -> Self {
        Self(secret)
    }

    pub fn hash_one(self, value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0, value).hash(&mut hasher);
        hasher.finish()
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self(rand::random())
    }
}

pub type OperatorId = usize;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SiteKey {
    Operator(OperatorId, usize),
    Network(IpAddr),
    Route(Arc<str>),
}

/// Key of the meter that counts a session: a machine in a network, or `None` for the whole site. In a /64, `None`
/// counts the machines without a meter of their own.
pub(crate) type MeterKey = Option<IpAddr>;

impl SiteKey {
    pub(crate) fn network_of(machine: IpAddr) -> Self {
        Self::Network(match machine {
            IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8))),
            IpAddr::V6(_) => first_of(machine, 64),
        })
    }

    /// The /48 of an IPv6 network, which is what one customer of a provider gets; other sites are their own.
    pub(crate) fn neighbourhood(&self) -> Self {
        match self {
            Self::Network(network) => Self::Network(first_of(*network, 48)),
            other => other.clone(),
        }
    }

    pub(crate) const fn is_network(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}

fn first_of(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << (128 - bits))).into(),
    }
}
