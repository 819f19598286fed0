//! Routes: domains with a configured mail server, as in a mail server's transport map.

use std::collections::HashMap;

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
        if self.0.is_empty() {
            return None;
        }
        let mut suffix = domain;
        loop {
            if let Some(route) = self.0.get(suffix) {
                return Some(route);
            }
            suffix = suffix.split_once('.')?.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Route, Routes};

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
}
