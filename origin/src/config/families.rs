//! The IP families by which mail servers are dialled.

use std::net::IpAddr;

use super::{SourceAddress, parse};

/// The IP families by which mail servers are dialled, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Families {
    pub ipv4: bool,
    pub ipv6: bool,
}

impl Families {
    pub const BOTH: Self = Self { ipv4: true, ipv6: true };

    /// `ipv4`, `ipv6` or both, separated by a comma. `Some(None)`: nothing is said.
    pub(super) fn parse(text: &str) -> Option<Option<Self>> {
        let mut families = Self { ipv4: false, ipv6: false };
        for item in parse::items(text) {
            let family = match item {
                "ipv4" => &mut families.ipv4,
                "ipv6" => &mut families.ipv6,
                _ => return None,
            };
            *family = true;
        }
        Some((families.ipv4 || families.ipv6).then_some(families))
    }

    /// The families of `sources`; both where the system chooses the address. Beside a configured address it chooses none:
    /// no reverse record would lead from such an address to the HELO name.
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
    use super::{Families, parse};

    #[test]
    fn source_addresses_of_one_family_leave_the_other_out() {
        let of = |text| Families::of(&parse::source_addresses(text).unwrap());
        assert_eq!(of("192.0.2.1"), Families { ipv4: true, ipv6: false });
        assert_eq!(of("2001:db8::1"), Families { ipv4: false, ipv6: true });
        for both in ["", "192.0.2.1,2001:db8::1"] {
            assert_eq!(of(both), Families::BOTH, "{both:?}");
        }
    }

    #[test]
    fn families_are_said_by_name() {
        assert_eq!(Families::parse(""), Some(None));
        assert_eq!(Families::parse("ipv6, ipv4"), Some(Some(Families::BOTH)));
        assert_eq!(Families::parse("ipv6"), Some(Some(Families { ipv4: false, ipv6: true })));
        for bad in ["inet", "4", "ipv4,", "IPv4"] {
            assert_eq!(Families::parse(bad), None, "{bad}");
        }
    }
}
