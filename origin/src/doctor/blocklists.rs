//! DNS blocklists (RFC 5782): whether an address of ours is on one.

use std::net::IpAddr;

use super::Finding;
use crate::{
    config::Config,
    dns::{Dns, NoAnswer},
};

const CHECK: &str = "blocklist";

pub(super) async fn blocklists(dns: &Dns, config: &Config, address: IpAddr) -> Vec<Finding> {
    let mut findings = Vec::new();
    for zone in &config.blocklists {
        findings.push(match dns.addresses_v4(&listing(address, zone)).await {
            Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {
                Finding::fine(CHECK, format!("{address} is not on {zone}"))
            }
            Err(NoAnswer::Failed) => {
                Finding::unknown(CHECK, format!("{zone} does not answer"), "")
            }
            // RFC 5782 §2.1: listings are in 127.0.0.0/8; Spamhaus refuses questions by 127.255.255.x.
            Ok(codes) if codes.iter().all(|code| code.octets().starts_with(&[127, 255, 255])) => {
                let advice = "Public resolvers are refused: use a nameserver of your own.";
                Finding::unknown(CHECK, format!("{zone} refuses our questions"), advice)
            }
            Ok(_) => {
                let advice = format!(
                    "See {zone} for the reason and for removal; lower session rates, or use another \
                     source address meanwhile."
                );
                Finding::wrong(CHECK, format!("{address} is on {zone}"), advice)
            }
        });
    }
    findings
}

/// The name to ask for (RFC 5782 §2.1, §2.4): octets or nibbles in reverse, then the zone.
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
