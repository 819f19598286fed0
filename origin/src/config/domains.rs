//! Domains with rules of their own: routes, as in a mail server's transport map, and opt-outs, to which no connection
//! is made.

use std::{
    collections::{HashMap, HashSet},
    iter,
    net::IpAddr,
};

use ipnet::IpNet;

use super::parse;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    Server(Server),
    /// The domain accepts no mail, as with a null MX (RFC 7505).
    NoMx,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or IP address, resolved with the system's resolver.
    pub host: String,
    pub port: u16,
}

const NO_MX: &str = "no-mx";

impl Route {
    fn parse(target: &str) -> Option<Self> {
        if target == NO_MX {
            return Some(Self::NoMx);
        }
        parse::server(target).map(Self::Server)
    }
}

/// A transport map from domain suffixes to servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes(HashMap<String, Route>);

impl Routes {
    /// Parses `suffix=host:port` or `suffix=no-mx`, separated by commas; IPv6 hosts are in
    /// brackets.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut routes = HashMap::new();
        for item in parse::items(text) {
            let (suffix, target) = item.split_once('=')?;
            let suffix = parse::domain_name(suffix.trim())?;
            if routes.insert(suffix, Route::parse(target.trim())?).is_some() {
                return None;
            }
        }
        Some(Self(routes))
    }

    /// The route for `domain` (lower-case): the longest suffix of whole labels wins.
    pub fn of(&self, domain: &str) -> Option<&Route> {
        suffixes(domain).find_map(|suffix| self.0.get(suffix))
    }
}

const MAIL_HOST: &str = "mx:";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptOuts {
    domains: HashSet<String>,
    hosts: HashSet<String>,
    networks: Vec<IpNet>,
}

impl OptOuts {
    /// Parses `example.org`, `mx:example.org`, `192.0.2.0/24` or a bare IP address, separated by
    /// commas. A name with a single label is rejected: it would be a whole top-level domain.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut opt_outs = Self::default();
        for item in parse::items(text) {
            if let Some(name) = item.strip_prefix(MAIL_HOST) {
                opt_outs.hosts.insert(parse::host_name(name)?);
            } else if let Some(network) = parse::network(item) {
                opt_outs.networks.push(network);
            } else {
                opt_outs.domains.insert(parse::host_name(item)?);
            }
        }
        Some(opt_outs)
    }

    pub fn include_domain(&self, domain: &str) -> bool {
        suffixes(domain).any(|suffix| self.domains.contains(suffix))
    }

    pub fn include_host(&self, host: &str) -> bool {
        suffixes(host).any(|suffix| self.hosts.contains(suffix))
    }

    pub fn include_address(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.networks.iter().any(|network| network.contains(&ip))
    }
}

fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(name), |suffix| suffix.split_once('.').map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::{OptOuts, Route, Routes};

    #[test]
    fn the_most_specific_suffix_of_whole_labels_wins() {
        let routes = Routes::parse("test=a:1, deep.sandbox.test=b:2,sandbox.test=[::1]:3").unwrap();
        for (domain, host) in [
            ("sandbox.test", Some("::1")),
            ("x.sandbox.test", Some("::1")),
            ("deep.sandbox.test", Some("b")),
            ("a.b.deep.sandbox.test", Some("b")),
            ("notsandbox.test", Some("a")),
            ("test", Some("a")),
            ("sandbox.test.org", None),
            ("contest", None),
        ] {
            let target = routes.of(domain).map(|route| match route {
                Route::Server(server) => server.host.as_str(),
                Route::NoMx => "no-mx",
            });
            assert_eq!(target, host, "{domain}");
        }
    }

    #[test]
    fn a_domain_can_be_routed_nowhere() {
        let routes = Routes::parse("test=a:1,none.test=no-mx").unwrap();
        assert_eq!(routes.of("x.none.test"), Some(&Route::NoMx));
    }

    #[test]
    fn refuses_what_is_not_a_route() {
        for text in [
            "a.test",
            "a.test=",
            "a.test=host",
            "a.test=:25",
            "a.test=host:0",
            "a.test=host:99999",
            "=host:25",
            "a..test=host:25",
            "a.test=host:25,A.test=other:25",
            "a.test=host:25,",
        ] {
            assert_eq!(Routes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_stands_for_what_is_below_it_and_a_network_for_its_addresses() {
        let text = "Example.org, mx:mail.example.net,192.0.2.0/24,2001:db8::7";
        let opt_outs = OptOuts::parse(text).unwrap();
        for (domain, is_in) in [
            ("example.org", true),
            ("a.b.example.org", true),
            ("notexample.org", false),
            ("example.org.net", false),
            ("mail.example.net", false),
            ("org", false),
        ] {
            assert_eq!(opt_outs.include_domain(domain), is_in, "{domain}");
        }
        for (host, is_in) in
            [("mail.example.net", true), ("mx1.mail.example.net", true), ("example.org", false)]
        {
            assert_eq!(opt_outs.include_host(host), is_in, "{host}");
        }
        for (ip, is_in) in [
            ("192.0.2.200", true),
            ("::ffff:192.0.2.200", true),
            ("192.0.3.1", false),
            ("2001:db8::7", true),
            ("2001:db8::8", false),
        ] {
            assert_eq!(opt_outs.include_address(ip.parse().unwrap()), is_in, "{ip}");
        }
    }

    #[test]
    fn refuses_what_would_be_too_much_or_nothing() {
        for text in ["com", "mx:com", "mx:", "example.org,", "*.example.org", "user@example.org"] {
            assert_eq!(OptOuts::parse(text), None, "{text}");
        }
    }
}
