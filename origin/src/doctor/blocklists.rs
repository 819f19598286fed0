//! The next nameserver is chosen here, as docs/verdicts.md says, and not by the library's statistics.

use std::net::{IpAddr, Ipv4Addr};

use super::Finding;
use crate::{
    config::Config,
    dns::{Dns, NoAnswer},
};

pub const CHECK: &str = "blocklist";

pub(super) async fn blocklists(dns: &Dns, config: &Config, address: IpAddr) -> Vec<Finding> {
    let mut findings = Vec::new();
    for zone in &config.blocklists {
        findings.push(match is_listed(dns, address, zone).await {
            Ok(false) => Finding::fine(CHECK, format!("{address} is not on {zone}")),
            Ok(true) => {
                let advice = format!(
                    "See {zone} for the reason and for removal; lower session rates, or use another \
                     source address meanwhile."
                );
                Finding::wrong(CHECK, format!("{address} is on {zone}"), advice)
            }
            Err(Worthless { why, advice }) => {
                Finding::unknown(CHECK, format!("{zone} {why}: {address} isn't looked up"), advice)
            }
        });
    }
    findings
}

struct Worthless {
    why: &'static str,
    advice: &'static str,
}

/// Two test entries are queried too, which distinguish a working list from a domain that answers every query or none
/// (RFC 5782 §5).
async fn is_listed(dns: &Dns, address: IpAddr, zone: &str) -> Result<bool, Worthless> {
    let [always, never] = test_entries(address);
    let (question, always, never) =
        (listing(address, zone), listing(always, zone), listing(never, zone));
    let (listed, always, never) =
        tokio::join!(lookup(dns, &question), lookup(dns, &always), lookup(dns, &never));
    let (listed, always, never) = (listed?, always?, never?);
    if never {
        let advice =
            "It was given up, or its domain answers every name: take it out of blocklists.";
        return Err(Worthless { why: "lists everything", advice });
    }
    if !always {
        let advice = "It was given up, or refuses our nameserver: ask its owner, or take it out of blocklists.";
        return Err(Worthless { why: "doesn't list its own test entry", advice });
    }
    Ok(listed)
}

async fn lookup(dns: &Dns, name: &str) -> Result<bool, Worthless> {
    match dns.addresses_v4(name).await {
        Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => Ok(false),
        Err(NoAnswer::Failed) => Err(Worthless { why: "doesn't answer", advice: "" }),
        Ok(codes) if codes.iter().all(|code| code.octets().starts_with(&[127, 0, 0])) => Ok(true),
        // Spamhaus rejects queries with 127.255.255.x; a domain that was sold answers with its web
        // server's address.
        Ok(codes) if codes.iter().all(|code| code.octets().starts_with(&[127, 255, 255])) => {
            let advice = "Public resolvers are refused: use a nameserver of your own.";
            Err(Worthless { why: "refuses our questions", advice })
        }
        Ok(_) => {
            let advice = "It was given up or sold: take it out of blocklists.";
            Err(Worthless { why: "answers what no blocklist answers", advice })
        }
    }
}

const fn test_entries(address: IpAddr) -> [IpAddr; 2] {
    let v4 = [Ipv4Addr::new(127, 0, 0, 2), Ipv4Addr::LOCALHOST];
    match address {
        IpAddr::V4(_) => [IpAddr::V4(v4[0]), IpAddr::V4(v4[1])],
        IpAddr::V6(_) => [IpAddr::V6(v4[0].to_ipv6_mapped()), IpAddr::V6(v4[1].to_ipv6_mapped())],
    }
}

/// The name to query (RFC 5782 §2.1, §2.4): reversed bytes or nibbles, then the zone.
fn listing(address: IpAddr, zone: &str) -> String {
    let reversed: Vec<String> = match address {
        IpAddr::V4(ip) => ip.octets().iter().rev().map(ToString::to_string).collect(),
        IpAddr::V6(ip) => ip
            .octets()
            .iter()
            .rev()
            .flat_map(|octet| [octet & 15, octet >> 4])
            .map(|nibble| format!("{nibble:x}"))
            .collect(),
    };
    format!("{}.{zone}", reversed.join("."))
}

#[cfg(test)]
mod tests {
    use super::listing;

    #[test]
    fn blocklists_are_asked_with_the_address_reversed() {
        let v4 = listing("192.0.2.99".parse().unwrap(), "bl.example");
        assert_eq!(v4, "99.2.0.192.bl.example");
        let v6 = listing("2001:db8::1".parse().unwrap(), "bl.example");
        let zeros = "0.".repeat(23);
        assert_eq!(v6, format!("1.{zeros}8.b.d.0.1.0.0.2.bl.example"));
    }
}
