//! The part of SPF (RFC 7208) that the doctor needs; macros depend on a message, which it doesn't have.

use std::{future::Future, net::IpAddr, pin::Pin};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::dns::{Dns, NoAnswer};

/// Maximum number of DNS lookups per evaluation (RFC 7208 §4.6.4).
const MAX_LOOKUPS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spf {
    Pass,
    Fail,
    SoftFail,
    Neutral,
    NoRecord,
    Broken(String),
    Unknown(String),
}

pub(super) async fn evaluate(dns: &Dns, domain: &str, address: IpAddr) -> Spf {
    SpfEvaluation { dns, address, lookups: 0 }.of(domain).await
}

struct SpfEvaluation<'a> {
    dns: &'a Dns,
    address: IpAddr,
    /// Terms with a DNS lookup so far.
    lookups: usize,
}

impl SpfEvaluation<'_> {
    async fn of(&mut self, domain: &str) -> Spf {
        let texts = match self.dns.texts(domain).await {
            Ok(texts) => texts,
            Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => return Spf::NoRecord,
            Err(NoAnswer::Failed) => {
                return Spf::Unknown(format!("DNS does not answer about {domain}"));
            }
        };
        let mut records = texts.iter().filter_map(|text| terms(text));
        match (records.next(), records.next()) {
            (None, _) => Spf::NoRecord,
            (Some(_), Some(_)) => Spf::Broken(format!("{domain} has more than one")),
            (Some(record), None) => {
                self.of_record(domain, record).await.unwrap_or_else(|stop| stop)
            }
        }
    }

    async fn of_record(&mut self, domain: &str, record: &str) -> Result<Spf, Spf> {
        let mut redirect = None;
        for term in record.split_ascii_whitespace() {
            if let Some((name, value)) = modifier(term) {
                if name.eq_ignore_ascii_case("redirect") {
                    redirect = Some(value);
                }
                continue;
            }
            let (verdict, mechanism) = qualified(term);
            if self.matches(domain, mechanism).await? {
                return Ok(verdict);
            }
        }
        match redirect {
            None => Ok(Spf::Neutral),
            Some(target) => {
                self.spend(target)?;
                Ok(match self.boxed(target).await {
                    Spf::NoRecord => Spf::Broken(format!("redirect={target} has none")),
                    result => result,
                })
            }
        }
    }

    async fn matches(&mut self, domain: &str, mechanism: &str) -> Result<bool, Spf> {
        let (name, rest) = match mechanism.find([':', '/']) {
            Some(at) => mechanism.split_at(at),
            None => (mechanism, ""),
        };
        let argument = rest.strip_prefix(':');
        match (name.to_ascii_lowercase().as_str(), argument) {
            ("all", None) => Ok(true),
            ("ip4" | "ip6", Some(network)) => self.is_in(mechanism, network),
            ("include", Some(target)) => self.includes(target).await,
            ("exists", Some(target)) => {
                self.spend(target)?;
                Ok(!self
                    .records_or_default(target, self.dns.addresses_v4(target).await)?
                    .is_empty())
            }
            (kind @ ("a" | "mx"), _) => {
                let (target, prefixes) = target_and_prefixes(rest);
                let target = target.unwrap_or(domain);
                self.spend(target)?;
                let hosts = match kind {
                    "mx" => self.exchanges(target).await?,
                    _ => vec![target.to_owned()],
                };
                self.is_one_of(hosts, prefixes).await?.ok_or_else(|| not_understood(mechanism))
            }
            // RFC 7208 §5.5 advises against `ptr`: it isn't evaluated, and counts as no match.
            ("ptr", _) => Ok(false),
            _ => Err(not_understood(mechanism)),
        }
    }

    async fn includes(&mut self, target: &str) -> Result<bool, Spf> {
        self.spend(target)?;
        match self.boxed(target).await {
            Spf::Pass => Ok(true),
            Spf::Fail | Spf::SoftFail | Spf::Neutral => Ok(false),
            Spf::NoRecord => Err(Spf::Broken(format!("include:{target} has none"))),
            broken => Err(broken),
        }
    }

    /// `None` if there are hosts and the prefixes are invalid.
    async fn is_one_of(
        &mut self,
        hosts: Vec<String>,
        prefixes: Option<(u8, u8)>,
    ) -> Result<Option<bool>, Spf> {
        for host in hosts {
            let addresses = self.records_or_default(&host, self.dns.all_addresses(&host).await)?;
            let Some(prefixes) = prefixes else { return Ok(None) };
            if addresses.into_iter().any(|ip| same_network(ip, self.address, prefixes)) {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    async fn exchanges(&self, domain: &str) -> Result<Vec<String>, Spf> {
        let records =
            self.records_or_default(domain, self.dns.mx(domain).await.map(|all| all.to_vec()))?;
        let exchanges = records.iter().filter(|mx| !mx.exchange.is_empty());
        Ok(exchanges.take(MAX_LOOKUPS).map(|mx| mx.exchange.to_string()).collect())
    }

    fn records_or_default<T: Default>(
        &self,
        name: &str,
        result: Result<T, NoAnswer>,
    ) -> Result<T, Spf> {
        match result {
            Ok(records) => Ok(records),
            Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => Ok(T::default()),
            Err(NoAnswer::Failed) => Err(Spf::Unknown(format!("DNS does not answer about {name}"))),
        }
    }

    fn is_in(&self, mechanism: &str, network: &str) -> Result<bool, Spf> {
        let network =
            network.parse::<IpNet>().or_else(|_| network.parse::<IpAddr>().map(IpNet::from));
        let network = network.map_err(|_| not_understood(mechanism))?;
        Ok(network.contains(&self.address))
    }

    fn spend(&mut self, target: &str) -> Result<(), Spf> {
        if target.contains('%') {
            return Err(Spf::Unknown(format!("{target} depends on a message")));
        }
        self.lookups += 1;
        if self.lookups > MAX_LOOKUPS {
            return Err(Spf::Broken(format!("it needs more than {MAX_LOOKUPS} questions to DNS")));
        }
        Ok(())
    }

    fn boxed<'s>(&'s mut self, domain: &'s str) -> Pin<Box<dyn Future<Output = Spf> + Send + 's>> {
        Box::pin(self.of(domain))
    }
}

fn terms(text: &str) -> Option<&str> {
    let (version, terms) = text.split_once(' ').unwrap_or((text, ""));
    version.eq_ignore_ascii_case("v=spf1").then_some(terms)
}

fn modifier(term: &str) -> Option<(&str, &str)> {
    let (name, value) = term.split_once('=')?;
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)).then_some((name, value))
}

fn qualified(term: &str) -> (Spf, &str) {
    for (sign, verdict) in
        [('+', Spf::Pass), ('-', Spf::Fail), ('~', Spf::SoftFail), ('?', Spf::Neutral)]
    {
        if let Some(mechanism) = term.strip_prefix(sign) {
            return (verdict, mechanism);
        }
    }
    (Spf::Pass, term)
}

/// Parses `:domain/prefix//prefix`, each part optional. Invalid prefixes become `None`.
fn target_and_prefixes(rest: &str) -> (Option<&str>, Option<(u8, u8)>) {
    let (target, prefixes) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (v4, v6) = match prefixes.split_once("//") {
        Some((v4, v6)) => (v4, Some(v6)),
        None => (prefixes, None),
    };
    let length = |text: Option<&str>, most: u8| match text {
        None => Some(most),
        Some(text) => text.parse().ok().filter(|length| *length <= most),
    };
    let v4 = length(v4.strip_prefix('/'), 32);
    (target.strip_prefix(':'), v4.zip(length(v6, 128)))
}

fn same_network(theirs: IpAddr, ours: IpAddr, (v4, v6): (u8, u8)) -> bool {
    match theirs {
        IpAddr::V4(ip) => Ipv4Net::new(ip, v4).is_ok_and(|net| IpNet::V4(net).contains(&ours)),
        IpAddr::V6(ip) => Ipv6Net::new(ip, v6).is_ok_and(|net| IpNet::V6(net).contains(&ours)),
    }
}

fn not_understood(mechanism: &str) -> Spf {
    Spf::Broken(format!("`{mechanism}` is not understood"))
}

#[cfg(test)]
mod tests {
    use super::{same_network, target_and_prefixes, terms};

    #[test]
    fn a_record_begins_with_its_version() {
        assert_eq!(terms("v=spf1 -all"), Some("-all"));
        assert_eq!(terms("V=SPF1"), Some(""));
        for other in ["v=spf10 -all", "spf2.0/pra", "google-site-verification=x", ""] {
            assert_eq!(terms(other), None, "{other}");
        }
    }

    #[test]
    fn prefixes_follow_the_domain() {
        for (rest, target, prefixes) in [
            ("", None, Some((32, 128))),
            (":a.org", Some("a.org"), Some((32, 128))),
            (":a.org/24", Some("a.org"), Some((24, 128))),
            ("/24//64", None, Some((24, 64))),
            ("//64", None, Some((32, 64))),
            ("/33", None, None),
            ("/x", None, None),
        ] {
            assert_eq!(target_and_prefixes(rest), (target, prefixes), "{rest}");
        }
    }

    #[test]
    fn an_address_matches_in_the_network_of_one_that_was_found() {
        let ip = |text: &str| text.parse().unwrap();
        assert!(same_network(ip("192.0.2.9"), ip("192.0.2.1"), (24, 128)));
        assert!(!same_network(ip("192.0.2.9"), ip("192.0.2.1"), (32, 128)));
        assert!(same_network(ip("2001:db8::9"), ip("2001:db8::1"), (32, 64)));
        assert!(!same_network(ip("2001:db8::1"), ip("192.0.2.1"), (0, 0)));
    }
}
