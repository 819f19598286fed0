//! Networks from which a named key may be used, in a form that SQL can compare with a client's
//! address.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Maximum number of networks of a key.
pub const NETWORKS_MAX: usize = 20;

/// Address shared by requests from all Workers on the platform: anybody can send from it.
const SHARED_BY_WORKERS: IpAddr =
    IpAddr::V6(Ipv6Addr::new(0x2a06, 0x98c0, 0x3600, 0, 0, 0, 0, 0x0103));

/// Reason for rejecting a list of networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworksError {
    TooMany,
    NoNetwork,
    SharedByWorkers,
}

/// The address as a text that sorts like its number; IPv4 and IPv6 never overlap.
pub fn comparable(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("4{:08x}", u32::from(address)),
        IpAddr::V6(address) => format!("6{:032x}", u128::from(address)),
    }
}

/// Parses CIDR blocks or single addresses and returns the first and last address of each.
pub fn ranges(networks: &[String]) -> Result<Vec<[String; 2]>, NetworksError> {
    if networks.len() > NETWORKS_MAX {
        return Err(NetworksError::TooMany);
    }
    networks.iter().map(|text| range(text)).collect()
}

fn range(text: &str) -> Result<[String; 2], NetworksError> {
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let network = match network.map_err(|_| NetworksError::NoNetwork)? {
        // An IPv4 client is only known by its IPv4 address, never by the IPv4-mapped IPv6 address.
        IpNet::V6(network) if network.addr().to_ipv4_mapped().is_some() => {
            let bits = network.prefix_len().checked_sub(96).ok_or(NetworksError::NoNetwork)?;
            let address = network.addr().to_ipv4_mapped().ok_or(NetworksError::NoNetwork)?;
            IpNet::V4(Ipv4Net::new(address, bits).map_err(|_| NetworksError::NoNetwork)?)
        }
        network => network,
    };
    if network.contains(&SHARED_BY_WORKERS) {
        return Err(NetworksError::SharedByWorkers);
    }
    Ok(match network {
        IpNet::V4(network) => {
            [network.network(), network.broadcast()].map(|address| comparable(address.into()))
        }
        // The crate calls the last address of a network its broadcast address, for IPv6 too.
        IpNet::V6(network) => [network.network(), network.broadcast()]
            .map(|address| format!("6{:032x}", u128::from(address))),
    })
}

/// CIDR block of a stored pair; empty if the pair is invalid.
pub fn block([first, last]: &[String; 2]) -> String {
    let number = |text: &str| u128::from_str_radix(text.get(1..)?, 16).ok();
    let (Some(from), Some(to)) = (number(first), number(last)) else { return String::new() };
    let free = 128 - (from ^ to).leading_zeros();
    let prefix = |bits: u32| u8::try_from(bits.saturating_sub(free)).unwrap_or_default();
    let network = match u32::try_from(from) {
        Ok(from) if first.starts_with('4') => {
            Ipv4Net::new(from.into(), prefix(32)).ok().map(IpNet::V4)
        }
        _ => Ipv6Net::new(from.into(), prefix(128)).ok().map(IpNet::V6),
    };
    network.map(|network| network.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{NetworksError, block, comparable, ranges};

    fn range(text: &str) -> Result<[String; 2], NetworksError> {
        ranges(&[text.to_owned()]).map(|mut all| all.remove(0))
    }

    fn holds(network: &str, address: &str) -> bool {
        let [first, last] = range(network).unwrap();
        let address = comparable(address.parse().unwrap());
        first <= address && address <= last
    }

    #[test]
    fn a_network_holds_its_addresses_and_no_others() {
        for (network, within, outside) in [
            ("192.0.2.0/24", "192.0.2.255", "192.0.3.0"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("192.0.2.99/24", "192.0.2.0", "192.0.1.255"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("2001:db8::1", "2001:db8::1", "2001:db8::2"),
            ("::ffff:192.0.2.0/120", "192.0.2.1", "192.0.3.1"),
            ("::/8", "::1", "192.0.2.1"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::10.1.2.3"),
        ] {
            assert!(holds(network, within), "{network} {within}");
            assert!(!holds(network, outside), "{network} {outside}");
        }
    }

    #[test]
    fn a_network_is_shown_as_it_is_meant() {
        for (typed, expected) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.99/24", "192.0.2.0/24"),
            ("192.0.2.7", "192.0.2.7/32"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:DB8::/32", "2001:db8::/32"),
            ("2001:db8::1", "2001:db8::1/128"),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ] {
            assert_eq!(block(&range(typed).unwrap()), expected, "{typed}");
        }
        assert_eq!(block(&["".to_owned(), "x".to_owned()]), "");
    }

    #[test]
    fn what_is_no_network_or_everybodys_is_refused() {
        for text in ["", "x", "192.0.2.0/33", "192.0.2", "::ffff:192.0.2.0/95", " 192.0.2.1", "1"] {
            assert_eq!(range(text), Err(NetworksError::NoNetwork), "{text}");
        }
        for text in ["2a06:98c0:3600::103", "2a06:98c0:3600::/48", "2a06:98c0::/29", "::/0"] {
            assert_eq!(range(text), Err(NetworksError::SharedByWorkers), "{text}");
        }
        assert!(range("2a06:98c0:3601::/48").is_ok());
        let many = vec!["192.0.2.1".to_owned(); 21];
        assert_eq!(ranges(&many), Err(NetworksError::TooMany));
        assert_eq!(ranges(&[]), Ok(Vec::new()));
    }
}
