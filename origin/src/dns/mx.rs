//! Finds the hosts that accept a domain's mail (RFC 5321 §5.1).

pub mod guard;

use crate::dns::{Dns, Mx, NoAnswer};

const MAX_HOSTS: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MailHosts {
    Explicit(Vec<Mx>),
    /// Without an MX record: the domain itself, if it has an address.
    Implicit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMailHosts {
    DomainNotFound,
    NullMx,
    DnsFailure,
}

/// In lower-case A-labels.
pub async fn mail_hosts(dns: &Dns, domain: &str) -> Result<MailHosts, NoMailHosts> {
    if is_special_use(domain) {
        return Err(NoMailHosts::DomainNotFound);
    }
    match dns.mx(domain).await {
        Ok(records) => {
            let rank = |host: &str| dns.order().hash_one((domain, host));
            in_order(&records, rank).map(MailHosts::Explicit).ok_or(NoMailHosts::NullMx)
        }
        Err(NoAnswer::NoRecords) => Ok(MailHosts::Implicit),
        Err(NoAnswer::NoSuchName) => Err(NoMailHosts::DomainNotFound),
        Err(NoAnswer::Failed) => Err(NoMailHosts::DnsFailure),
    }
}

/// `None` for a null MX (RFC 7505). A null MX next to real hosts is a mistake of the domain's owner and is ignored.
fn in_order(records: &[Mx], rank: impl Fn(&str) -> u64) -> Option<Vec<Mx>> {
    let mut records: Vec<&Mx> = records.iter().filter(|mx| !mx.exchange.is_empty()).collect();
    if records.is_empty() {
        return None;
    }
    records.sort_by_cached_key(|mx| (mx.preference, rank(&mx.exchange)));
    let mut hosts: Vec<Mx> = Vec::with_capacity(records.len().min(MAX_HOSTS));
    for mx in records {
        if hosts.len() == MAX_HOSTS {
            break;
        }
        if !hosts.iter().any(|host| host.exchange == mx.exchange) {
            hosts.push(mx.clone());
        }
    }
    Some(hosts)
}

/// True if `host` may be looked up: it must be a host name, not an IP address, and not special-use.
///
/// Underscores aren't allowed in host names (RFC 1123 §2.1), but occur in real MX records.
pub fn is_resolvable(host: &str) -> bool {
    let label = |label: &[u8]| {
        (1..=63).contains(&label.len())
            && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-' || *b == b'_')
    };
    let mut labels = host.as_bytes().split(|octet| *octet == b'.');
    let numeric = labels.clone().next_back().is_some_and(|top| top.iter().all(u8::is_ascii_digit));
    host.len() <= 253 && labels.all(label) && !numeric && !is_special_use(host)
}

/// Names that don't exist in public DNS, from the IANA registry of special-use domain names.
///
/// `example.com`, `example.net` and `example.org` are in the registry too, but they are delegated
/// and can be queried.
const SPECIAL_USE: [&str; 8] = [
    // RFC 6761 §6.2–6.5.
    "test",
    "localhost",
    "invalid",
    "example",
    // Multicast DNS, RFC 6762 §3.
    "local",
    // RFC 7686 §1.
    "onion",
    // RFC 8375 §4.
    "home.arpa",
    // RFC 9476 §2.
    "alt",
];

/// True if `domain` (lower-case) is a special-use name or below one. Such a name isn't queried: the answer is known,
/// and queries mustn't leave our network (RFC 6761 §6).
fn is_special_use(domain: &str) -> bool {
    SPECIAL_USE.iter().any(|name| {
        domain.strip_suffix(name).is_some_and(|under| under.is_empty() || under.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        hash::{DefaultHasher, Hash as _, Hasher as _},
    };

    use super::{MAX_HOSTS, in_order, is_resolvable, is_special_use};
    use crate::dns::Mx;

    fn order(records: &[(u16, &str)], seed: u64) -> Option<Vec<String>> {
        let records: Vec<_> = records
            .iter()
            .map(|(preference, host)| Mx { preference: *preference, exchange: (*host).into() })
            .collect();
        let rank = |host: &str| {
            let mut hasher = DefaultHasher::new();
            (seed, host).hash(&mut hasher);
            hasher.finish()
        };
        let hosts = in_order(&records, rank)?;
        Some(hosts.iter().map(|mx| mx.exchange.to_string()).collect())
    }

    #[test]
    fn the_lowest_preference_comes_first() {
        let hosts = order(&[(20, "c"), (5, "a"), (10, "b"), (65_535, "d")], 1).unwrap();
        assert_eq!(hosts, ["a", "b", "c", "d"]);
    }

    #[test]
    fn equal_preferences_come_in_every_order_and_for_one_domain_in_one() {
        let equal = [(10, "a"), (10, "b"), (10, "c")];
        assert_eq!(order(&equal, 7), order(&[equal[2], equal[0], equal[1]], 7));
        let orders: HashSet<_> = (0..200)
            .map(|seed| order(&[(10, "a"), (10, "b"), (10, "c"), (20, "z")], seed).unwrap())
            .inspect(|hosts| assert_eq!(hosts[3], "z"))
            .collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_null_mx_means_no_mail_and_is_ignored_beside_hosts() {
        assert_eq!(order(&[(0, "")], 1), None);
        assert_eq!(order(&[(10, "")], 1), None);
        assert_eq!(order(&[(0, ""), (0, "")], 1), None);
        assert_eq!(order(&[(0, ""), (10, "a")], 1).unwrap(), ["a"]);
    }

    #[test]
    fn a_host_is_tried_once_and_ten_at_most() {
        assert_eq!(order(&[(10, "a"), (20, "a"), (15, "b")], 1).unwrap(), ["a", "b"]);
        let names: Vec<_> = (0..1_000).map(|n| format!("mx{n}")).collect();
        let records: Vec<_> = names.iter().map(|name| (10, name.as_str())).collect();
        assert_eq!(order(&records, 1).unwrap().len(), MAX_HOSTS);
    }

    #[test]
    fn hosts_that_are_no_public_names_have_no_address() {
        for host in ["mx.example.org", "mx_1.example.org", "a", "xn--mgbh0fb.com"] {
            assert!(is_resolvable(host), "{host}");
        }
        for host in [
            "192.0.2.1",
            "1.2.3",
            "[192.0.2.1]",
            "2001:db8::1",
            "localhost",
            "mx.localhost",
            "mx.test",
            "",
            "a..b",
            ".a",
            r"a\032b.org",
            r"a\.b.org",
            "a b.org",
        ] {
            assert!(!is_resolvable(host), "{host}");
        }
        assert!(!is_resolvable(&format!("{}.org", "a".repeat(64))));
    }

    #[test]
    fn knows_special_names_and_what_is_under_them() {
        for domain in [
            "localhost",
            "a.localhost",
            "sandbox.test",
            "a.b.invalid",
            "mail.example",
            "printer.local",
            "facebookcorewwwi.onion",
            "router.home.arpa",
            "x.alt",
        ] {
            assert!(is_special_use(domain), "{domain}");
        }
    }

    #[test]
    fn ordinary_names_are_not_special() {
        for domain in [
            "example.com",
            "example.org",
            "mytest",
            "contest.org",
            "test.org",
            "localhost.org",
            "arpa",
            "notlocal",
            "walt",
        ] {
            assert!(!is_special_use(domain), "{domain}");
        }
    }
}
