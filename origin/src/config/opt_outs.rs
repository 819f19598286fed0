//! Domains, mail hosts and networks that have opted out: no connection is made to them.

use std::{collections::HashSet, net::IpAddr};

use ipnet::IpNet;

use super::parse;

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
        is_below(&self.domains, domain)
    }

    pub fn include_host(&self, host: &str) -> bool {
        is_below(&self.hosts, host)
    }

    pub fn include_address(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.networks.iter().any(|network| network.contains(&ip))
    }
}

fn is_below(names: &HashSet<String>, name: &str) -> bool {
    let mut suffix = name;
    loop {
        if names.contains(suffix) {
            return true;
        }
        match suffix.split_once('.') {
            Some((_, rest)) => suffix = rest,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OptOuts;

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
