//! `origin doctor`: whether this machine is fit to ask mail servers, and what to do where it is not.

use std::{
    fmt,
    net::{IpAddr, SocketAddr, UdpSocket},
};

use rsntp::AsyncSntpClient;

use crate::{
    State,
    config::{Config, Server},
    dns::{Dns, NoAnswer},
    mx::guard::Guard,
    smtp::HeloIdentity,
};

/// Seconds by which the clock may be off: the edge's tickets live for sixty.
const MAX_OFFSET: f64 = 5.0;

/// How one thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    Fine,
    /// Could not be found out, or is not configured.
    Unknown,
    Wrong,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub health: Health,
    pub about: String,
    /// Empty when there is nothing to do.
    pub advice: String,
}

impl Finding {
    fn new(health: Health, about: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { health, about: about.into(), advice: advice.into() }
    }

    fn fine(about: impl Into<String>) -> Self {
        Self::new(Health::Fine, about, "")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.health {
            Health::Fine => "ok     ",
            Health::Unknown => "unknown",
            Health::Wrong => "WRONG  ",
        };
        write!(f, "{mark} {}", self.about)?;
        if !self.advice.is_empty() {
            write!(f, "\n        {}", self.advice)?;
        }
        Ok(())
    }
}

/// Looks at everything.
pub async fn examine(state: &State) -> Vec<Finding> {
    let config = state.prober.config();
    let dns = state.prober.dns();
    let mut findings = vec![nameservers(dns).await];
    findings.extend(port_25(state, config).await);
    for identity in state.prober.identities() {
        let mut addresses: Vec<IpAddr> = identity.addresses().collect();
        findings.push(helo_name(dns, identity, &mut addresses).await);
        for address in addresses {
            findings.push(reverse_name(dns, identity, address).await);
            findings.extend(blocklists(dns, config, address).await);
        }
    }
    findings.push(clock(config.time_server.as_ref()).await);
    findings
}

async fn nameservers(dns: &Dns) -> Finding {
    if dns.is_reachable().await {
        Finding::fine("a nameserver answers")
    } else {
        let advice = "Check `nameservers`, and that UDP and TCP port 53 to them are open.";
        Finding::new(Health::Wrong, "no nameserver answers", advice)
    }
}

async fn port_25(state: &State, config: &Config) -> Vec<Finding> {
    if config.port_check.is_empty() {
        let advice =
            "Set `port_check` to mail servers of others; /ready then fails when it is shut.";
        return vec![Finding::new(Health::Unknown, "port 25 outward: not checked", advice)];
    }
    let mut findings = Vec::new();
    for server in &config.port_check {
        let Server { host, port } = server;
        findings.push(if state.port_check.connects(server).await {
            Finding::fine(format!("{host}:{port} can be connected to"))
        } else {
            let advice = "If none can be, port 25 is shut outward: ask the provider to open it, and \
                          check the firewall. Until then every verdict is a failed connection.";
            Finding::new(Health::Wrong, format!("{host}:{port} cannot be connected to"), advice)
        });
    }
    findings
}

/// The name has an address, and it is ours. Where no source address is configured, `addresses` is
/// filled with those of the name: behind a NAT they are all there is to go by.
async fn helo_name(dns: &Dns, identity: &HeloIdentity, addresses: &mut Vec<IpAddr>) -> Finding {
    let name = &identity.helo_name;
    let found = match dns.addresses(name).await {
        Ok(found) => found,
        Err(NoAnswer::Failed) => {
            let about = format!("HELO name {name}: DNS does not answer");
            return Finding::new(Health::Unknown, about, "");
        }
        Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => {
            let about = format!("HELO name {name} has no address");
            let advice = "Add an A (and AAAA) record that leads to this machine's public address.";
            return Finding::new(Health::Wrong, about, advice);
        }
    };
    if addresses.is_empty() {
        let outward = outward_address().filter(|ip| Guard::default().permits(*ip));
        addresses.extend(outward.map_or_else(|| found.clone(), |ip| vec![ip]));
    }
    match addresses.iter().find(|ours| !found.contains(ours)) {
        None => Finding::fine(format!("HELO name {name} leads to us")),
        Some(stranger) => {
            let about = format!("HELO name {name} does not lead to {stranger}");
            let advice = "Point its address record there, or give that source address another name: \
                          source_addresses = [\"ip=name\"].";
            Finding::new(Health::Wrong, about, advice)
        }
    }
}

/// The address that the system connects from. Nothing is sent.
fn outward_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Any public address will do: it decides the route.
    socket.connect(SocketAddr::from(([9, 9, 9, 9], 53))).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

async fn reverse_name(dns: &Dns, identity: &HeloIdentity, address: IpAddr) -> Finding {
    let name = &identity.helo_name;
    let advice = format!(
        "Have the owner of the address (the hosting provider) set its PTR record to {name}: many \
         servers refuse clients without one."
    );
    match dns.reverse(address).await {
        Ok(names) if names.contains(name) => {
            Finding::fine(format!("{address} leads back to {name}"))
        }
        Ok(names) => {
            let about = format!("{address} leads back to {} and not to {name}", names.join(", "));
            Finding::new(Health::Wrong, about, advice)
        }
        Err(NoAnswer::Failed) => {
            Finding::new(Health::Unknown, format!("{address}: DNS does not answer"), "")
        }
        Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => {
            Finding::new(Health::Wrong, format!("{address} has no reverse name"), advice)
        }
    }
}

async fn blocklists(dns: &Dns, config: &Config, address: IpAddr) -> Vec<Finding> {
    let mut findings = Vec::new();
    for zone in &config.blocklists {
        findings.push(match dns.addresses_v4(&listing(address, zone)).await {
            Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {
                Finding::fine(format!("{address} is not on {zone}"))
            }
            Err(NoAnswer::Failed) => {
                Finding::new(Health::Unknown, format!("{zone} does not answer"), "")
            }
            // RFC 5782 §2.1: listings are in 127.0.0.0/8; Spamhaus refuses questions by 127.255.255.x.
            Ok(codes) if codes.iter().all(|code| code.octets().starts_with(&[127, 255, 255])) => {
                let advice = "Public resolvers are refused: use a nameserver of your own.";
                Finding::new(Health::Unknown, format!("{zone} refuses our questions"), advice)
            }
            Ok(_) => {
                let advice = format!(
                    "See {zone} for the reason and for removal; lower session rates, or use another \
                     source address meanwhile."
                );
                Finding::new(Health::Wrong, format!("{address} is on {zone}"), advice)
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

async fn clock(server: Option<&Server>) -> Finding {
    let Some(Server { host, port }) = server else {
        let advice =
            "Set `time_server`, or see to it that the system keeps its clock (timedatectl).";
        return Finding::new(Health::Unknown, "the clock: not checked", advice);
    };
    let client = AsyncSntpClient::new();
    match client.synchronize(format!("{host}:{port}")).await {
        Ok(measured) => judge_clock(measured.clock_offset().as_secs_f64()),
        Err(error) => {
            let about = format!("{host}:{port}: {error}");
            Finding::new(Health::Unknown, about, "Check `time_server`, and UDP port 123 outward.")
        }
    }
}

fn judge_clock(offset: f64) -> Finding {
    if offset.abs() <= MAX_OFFSET {
        return Finding::fine(format!("the clock is right to {:.1} s", offset.abs()));
    }
    let advice = "Tickets live for sixty seconds: have the system keep its clock (chrony, \
                  systemd-timesyncd).";
    Finding::new(Health::Wrong, format!("the clock is off by {offset:.1} s"), advice)
}

#[cfg(test)]
mod tests;
