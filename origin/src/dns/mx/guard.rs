//! The addresses that we may connect to: domain owners name the mail hosts, and could otherwise lead a probe to any
//! machine in our network.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use arc_swap::ArcSwap;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(a: u16, b: u16, c: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// IANA IPv4 special-purpose registry (RFC 6890), and multicast. Ranges that are globally reachable
/// are included too, because none of them contains a mail server.
const FORBIDDEN_V4: [Ipv4Net; 18] = [
    v4(0, 0, 0, 0, 8),       // this network
    v4(10, 0, 0, 0, 8),      // private use
    v4(100, 64, 0, 0, 10),   // shared address space (carrier-grade NAT)
    v4(127, 0, 0, 0, 8),     // loopback
    v4(169, 254, 0, 0, 16),  // link local, and the metadata service of clouds
    v4(172, 16, 0, 0, 12),   // private use
    v4(192, 0, 0, 0, 24),    // IETF protocol assignments
    v4(192, 0, 2, 0, 24),    // documentation
    v4(192, 31, 196, 0, 24), // AS112
    v4(192, 52, 193, 0, 24), // AMT
    v4(192, 88, 99, 0, 24),  // 6to4 relay anycast, deprecated
    v4(192, 168, 0, 0, 16),  // private use
    v4(192, 175, 48, 0, 24), // AS112
    v4(198, 18, 0, 0, 15),   // benchmarking
    v4(198, 51, 100, 0, 24), // documentation
    v4(203, 0, 113, 0, 24),  // documentation
    v4(224, 0, 0, 0, 4),     // multicast
    v4(240, 0, 0, 0, 4),     // reserved, and limited broadcast
];

/// The only IPv6 range from which IANA assigns global unicast addresses. Ranges outside need no
/// row: unspecified, loopback, IPv4-mapped and -compatible, NAT64 (64:ff9b::/96, 64:ff9b:1::/48),
/// discard-only, segment routing, unique local, link local, site local, multicast.
const GLOBAL_UNICAST: Ipv6Net = v6(0x2000, 0, 0, 3);

const FORBIDDEN_V6: [Ipv6Net; 5] = [
    v6(0x2001, 0, 0, 23), // IETF protocol assignments: Teredo, benchmarking, ORCHID, AMT, …
    v6(0x2001, 0x0db8, 0, 32), // documentation
    v6(0x2002, 0, 0, 16), // 6to4
    v6(0x2620, 0x004f, 0x8000, 48), // AS112
    v6(0x3fff, 0, 0, 20), // documentation
];

#[derive(Debug, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
    own: ArcSwap<Vec<IpAddr>>,
}

impl Guard {
    /// Creates a guard. `allowed` overrides all other rules; `own` are this machine's addresses.
    pub fn new(allowed: Vec<IpNet>, own: Vec<IpAddr>) -> Self {
        Self { allowed, own: ArcSwap::from_pointee(own) }
    }

    pub fn own(&self) -> Vec<IpAddr> {
        self.own.load().to_vec()
    }

    pub fn set_own(&self, own: Vec<IpAddr>) {
        self.own.store(Arc::new(own));
    }

    pub fn permits(&self, ip: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.contains(&ip))
            || (is_public_unicast(ip) && !self.own.load().contains(&ip))
    }
}

fn is_public_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !FORBIDDEN_V4.iter().any(|network| network.contains(&ip)),
        IpAddr::V6(ip) => {
            GLOBAL_UNICAST.contains(&ip)
                && !FORBIDDEN_V6.iter().any(|network| network.contains(&ip))
        }
    }
}

#[cfg(test)]
mod tests;
