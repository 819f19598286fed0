//! Our source addresses, and the IP families of connections to mail servers.

use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceAddress {
    pub ip: IpAddr,
    /// The address's own HELO name; `None` for the configured default.
    pub helo_name: Option<String>,
    /// Unix time since which mail servers have seen this address. `None` for an established address.
    pub since: Option<u64>,
    /// True if only accounts without a plan use the address.
    pub is_for_free: bool,
}

/// The IP families of connections to mail servers, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Families {
    pub const BOTH: Self = Self { ipv4: true, ipv6: true };

    /// The families of `sources`, or both if there are none and the system chooses the address. If only one family has
    /// an address, the other family isn't used. The reverse record of an address that the system chose wouldn't contain
    /// the HELO name.
    pub fn of<'a>(sources: impl IntoIterator<Item = &'a SourceAddress>) -> Self {
        let mut families = Self { ipv4: false, ipv6: false };
        for source in sources {
            families.ipv4 |= source.ip.is_ipv4();
            families.ipv6 |= source.ip.is_ipv6();
        }
        if families.ipv4 || families.ipv6 { families } else { Self::BOTH }
    }

    pub const fn include(self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V4(_) => self.ipv4,
            IpAddr::V6(_) => self.ipv6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Families, SourceAddress};

    #[test]
    fn source_addresses_of_one_family_leave_the_other_out() {
        let of = |ips: &[&str]| {
            let source = |ip: &&str| SourceAddress {
                ip: ip.parse().unwrap(),
                helo_name: None,
                since: None,
                is_for_free: false,
            };
            Families::of(&ips.iter().map(source).collect::<Vec<_>>())
        };
        assert_eq!(of(&["192.0.2.1"]), Families { ipv4: true, ipv6: false });
        assert_eq!(of(&["2001:db8::1"]), Families { ipv4: false, ipv6: true });
        for both in [&[][..], &["192.0.2.1", "2001:db8::1"]] {
            assert_eq!(of(both), Families::BOTH, "{both:?}");
        }
    }
}
