//! Our identity to a mail server: a HELO name and its addresses.

use std::net::{IpAddr, SocketAddr};

use crate::{Families, SourceAddress};

/// A HELO name with its addresses. If a family has no address, the system chooses the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeloIdentity {
    pub helo_name: String,
    v4: Option<IpAddr>,
    v6: Option<IpAddr>,
    families: Families,
    /// Unix time since which mail servers have seen the identity's newest address.
    since: Option<u64>,
    is_for_free: bool,
}

impl HeloIdentity {
    /// The identities made of `sources`, at least one: each name's nth IPv4 address is combined with its nth IPv6
    /// address. Each identity connects over `families`, or by default over those of its addresses.
    pub fn all(
        helo_name: &str,
        sources: &[SourceAddress],
        families: Option<Families>,
    ) -> Vec<Self> {
        let mut identities: Vec<Self> = Vec::new();
        for source in sources {
            let name = source.helo_name.as_deref().unwrap_or(helo_name);
            let lacks_family = |identity: &&mut Self| {
                let family = if source.ip.is_ipv4() { identity.v4 } else { identity.v6 };
                let fits = identity.is_for_free == source.is_for_free;
                identity.helo_name == name && family.is_none() && fits
            };
            match identities.iter_mut().find(lacks_family) {
                Some(identity) => identity.take(source),
                None => {
                    let mut identity = Self::unbound(name);
                    identity.take(source);
                    identities.push(identity);
                }
            }
        }
        if identities.is_empty() {
            identities.push(Self::unbound(helo_name));
        }
        for identity in &mut identities {
            identity.families = families.unwrap_or_else(|| identity.own_families());
        }
        identities
    }

    /// Creates an identity without addresses, so that the system chooses them.
    pub fn unbound(helo_name: &str) -> Self {
        let helo_name = helo_name.to_owned();
        Self {
            helo_name,
            v4: None,
            v6: None,
            families: Families::BOTH,
            since: None,
            is_for_free: false,
        }
    }

    fn take(&mut self, source: &SourceAddress) {
        let address = if source.ip.is_ipv4() { &mut self.v4 } else { &mut self.v6 };
        *address = Some(source.ip);
        self.since = self.since.max(source.since);
        self.is_for_free = source.is_for_free;
    }

    const fn own_families(&self) -> Families {
        match (self.v4, self.v6) {
            (None, None) => Families::BOTH,
            (v4, v6) => Families { ipv4: v4.is_some(), ipv6: v6.is_some() },
        }
    }

    pub const fn source_for(&self, peer: SocketAddr) -> Option<IpAddr> {
        if peer.is_ipv4() { self.v4 } else { self.v6 }
    }

    pub const fn reaches(&self, ip: IpAddr) -> bool {
        self.families.include(ip)
    }

    pub const fn since(&self) -> Option<u64> {
        self.since
    }

    pub const fn is_for_free(&self) -> bool {
        self.is_for_free
    }

    pub const fn class_name(&self) -> &'static str {
        if self.is_for_free { "free" } else { "known" }
    }

    /// The identity's addresses, or else its HELO name.
    pub fn label(&self) -> String {
        let addresses: Vec<_> = self.addresses().map(|ip| ip.to_string()).collect();
        if addresses.is_empty() { self.helo_name.clone() } else { addresses.join(" ") }
    }

    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.v4.into_iter().chain(self.v6)
    }
}

#[cfg(test)]
mod tests {
    use super::{Families, HeloIdentity, SourceAddress};

    fn identities(sources: &[(&str, Option<&str>)]) -> Vec<(String, Vec<String>)> {
        let sources: Vec<_> = sources
            .iter()
            .map(|(ip, name)| SourceAddress {
                ip: ip.parse().unwrap(),
                helo_name: name.map(ToOwned::to_owned),
                since: None,
                is_for_free: false,
            })
            .collect();
        HeloIdentity::all("one.example", &sources, None)
            .into_iter()
            .map(|identity| {
                let addresses = identity.addresses().map(|ip| ip.to_string()).collect();
                (identity.helo_name, addresses)
            })
            .collect()
    }

    #[test]
    fn a_family_without_a_source_address_is_not_connected_to() {
        let source = |ip: &str| SourceAddress {
            ip: ip.parse().unwrap(),
            helo_name: None,
            since: None,
            is_for_free: false,
        };
        let identity = |ips: &[&str]| {
            let sources: Vec<_> = ips.iter().map(|ip| source(ip)).collect();
            HeloIdentity::all("one.example", &sources, None).remove(0)
        };
        let reaches = |identity: HeloIdentity| {
            ["192.0.2.9", "2001:db8::9"].map(|ip| identity.reaches(ip.parse().unwrap()))
        };
        assert_eq!(reaches(identity(&[])), [true, true]);
        assert_eq!(identity(&[]).label(), "one.example");
        assert_eq!(reaches(identity(&["192.0.2.1"])), [true, false]);
        assert_eq!(reaches(identity(&["2001:db8::1"])), [false, true]);
        assert_eq!(reaches(identity(&["192.0.2.1", "2001:db8::1"])), [true, true]);
    }

    #[test]
    fn a_name_goes_with_one_address_of_each_family() {
        assert_eq!(identities(&[]), [("one.example".to_owned(), vec![])]);
        let two = Some("two.example");
        let made = identities(&[
            ("192.0.2.1", None),
            ("192.0.2.2", two),
            ("2001:db8::1", None),
            ("192.0.2.3", None),
            ("2001:db8::2", two),
        ]);
        let shown: Vec<_> =
            made.iter().map(|(name, ips)| format!("{name} {}", ips.join(" "))).collect();
        assert_eq!(
            shown,
            [
                "one.example 192.0.2.1 2001:db8::1",
                "two.example 192.0.2.2 2001:db8::2",
                "one.example 192.0.2.3"
            ]
        );
    }

    #[test]
    fn a_name_without_an_address_of_a_family_does_not_dial_it_unless_that_is_said() {
        let source = SourceAddress {
            ip: "192.0.2.1".parse().unwrap(),
            helo_name: None,
            since: None,
            is_for_free: false,
        };
        let sources = std::slice::from_ref(&source);
        let dials = |sources: &[SourceAddress], families, peer: &str| {
            let identity = HeloIdentity::all("one.example", sources, families).remove(0);
            identity.reaches(peer.parse().unwrap())
        };
        let v6_only = Some(Families { ipv4: false, ipv6: true });
        for (sources, families, v4, v6) in [
            (&[][..], None, true, true),
            (&[][..], v6_only, false, true),
            (sources, None, true, false),
            (sources, Some(Families::BOTH), true, true),
        ] {
            assert_eq!(dials(sources, families, "198.51.100.1"), v4);
            assert_eq!(dials(sources, families, "2001:db8::2"), v6);
        }
    }

    #[test]
    fn an_identity_says_whether_it_is_for_free_and_since_when() {
        for (is_for_free, class) in [(true, "free"), (false, "known")] {
            let ip = "192.0.2.1".parse().unwrap();
            let source = SourceAddress { ip, helo_name: None, since: Some(7), is_for_free };
            let identity = HeloIdentity::all("one.example", &[source], None).remove(0);
            let said = (identity.is_for_free(), identity.class_name(), identity.since());
            assert_eq!(said, (is_for_free, class, Some(7)));
            assert_eq!(identity.label(), "192.0.2.1");
        }
    }
}
