//! Tests of which addresses we may connect to.

use std::net::IpAddr;

use super::Guard;

/// Addresses of every forbidden range: often the first and the last, and well-known ones.
const FORBIDDEN: &[&str] = &[
    // IPv4
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.0",
    "10.1.2.3",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.0",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.0",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.0.255",
    "192.0.2.0",
    "192.0.2.255",
    "192.31.196.1",
    "192.52.193.1",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.255.255",
    "192.175.48.1",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.0",
    "198.51.100.255",
    "203.0.113.0",
    "203.0.113.255",
    "224.0.0.0",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.254",
    "255.255.255.255",
    // IPv6
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:0:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "64:ff9b::127.0.0.1",
    "64:ff9b:1::1",
    "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
    "100::1",
    "100:0:0:1::1",
    "200::1",
    "400::1",
    "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1::1",
    "2001:2::1",
    "2001:3::1",
    "2001:4:112::1",
    "2001:10::1",
    "2001:20::1",
    "2001:30::1",
    "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db8::1",
    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
    "2002::1",
    "2002:7f00:1::1",
    "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fe80::1",
    "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "fec0::1",
    "feff::1",
    "ff02::1",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
];

/// Addresses next to the forbidden ranges, and those of real mail servers.
const PERMITTED: &[&str] = &[
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2607:f8b0:4003:c15::1b",
    "2620:4f:7fff::1",
    "2620:4f:8001::1",
    "2a00:1450:4010:c0f::1b",
    "3ffe::1",
];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn no_special_address_is_dialled() {
    for text in FORBIDDEN {
        assert!(!Guard::default().permits(ip(text)), "{text}");
    }
}

#[test]
fn public_addresses_are_dialled() {
    for text in PERMITTED {
        assert!(Guard::default().permits(ip(text)), "{text}");
    }
}

#[test]
fn this_machine_is_not_dialled_at_its_public_address() {
    let guard = Guard::new(Vec::new(), vec![ip("8.8.8.8")]);
    assert!(!guard.permits(ip("8.8.8.8")));
    assert!(guard.permits(ip("8.8.4.4")));
}

#[test]
fn allowed_networks_open_exactly_themselves() {
    let allowed = vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
    let guard = Guard::new(allowed, vec![ip("127.0.0.1")]);
    for open in ["127.0.0.1", "127.9.9.9", "fd00::1"] {
        assert!(guard.permits(ip(open)), "{open}");
    }
    for closed in ["10.0.0.1", "fc00::1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"] {
        assert!(!guard.permits(ip(closed)), "{closed}");
    }
}
