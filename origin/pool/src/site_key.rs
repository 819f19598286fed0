//! Keys of the units of shared limits: sites, and the meters within them.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use super::operators::OperatorId;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum SiteKey {
    /// An operator, from one of our source addresses.
    Operator(OperatorId, usize),
    /// A /24 or a /64, by its first address.
    Network(IpAddr),
    Route(Arc<str>),
}

/// Key of the meter that counts a session: a machine in a network, or `None` for the whole site. In a network, `None`
/// counts the machines without a meter of their own.
pub(super) type MeterKey = Option<IpAddr>;

impl SiteKey {
    pub(super) fn network_of(machine: IpAddr) -> Self {
        Self::Network(match machine {
            IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8))),
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64))),
        })
    }

    pub(super) const fn is_operator(&self) -> bool {
        matches!(self, Self::Operator(..))
    }

    pub(super) const fn is_network(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}
