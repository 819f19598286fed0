//! Parsers for the text of settings; `None` for text that a setting doesn't accept.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use hickory_resolver::system_conf;
use ipnet::IpNet;
use rcpt_shared::{Address, KeyRing};
use tracing::level_filters::LevelFilter;

use super::{Families, Server, SourceAddress, StartTls};

const DNS_PORT: u16 = 53;

pub(super) fn from_str<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    let blank = text.trim().is_empty();
    text.split(',').map(str::trim).filter(move |_| !blank)
}

/// Letters, digits and hyphens in lower case (RFC 1123 §2.1), with at least two labels.
pub(super) fn host_name(text: &str) -> Option<String> {
    domain_name(text).filter(|name| name.contains('.'))
}

pub(super) fn domain_name(text: &str) -> Option<String> {
    // Reuses the rules of addresses: the part after an `@` is a domain name.
    let address = Address::parse(&format!("a@{text}")).ok()?;
    text.is_ascii().then(|| address.domain().to_owned())
}

/// The null sender is written `<>`, as in SMTP.
pub(super) fn reverse_path(text: &str) -> Option<String> {
    if text == "<>" {
        return Some(String::new());
    }
    let address = Address::parse(text).ok()?;
    // A UTF-8 sender would require SMTPUTF8 from every server.
    (!address.needs_smtputf8()).then(|| address.normal().to_owned())
}

pub(super) fn contact(text: &str) -> Option<String> {
    if text.is_empty() {
        Some(String::new())
    } else {
        reverse_path(text).filter(|it| !it.is_empty())
    }
}

pub(super) fn nameservers(text: &str) -> Option<Vec<SocketAddr>> {
    let configured: Vec<_> = items(text)
        .map(|item| {
            item.parse::<SocketAddr>()
                .or_else(|_| item.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DNS_PORT)))
                .ok()
        })
        .collect::<Option<_>>()?;
    if !configured.is_empty() {
        return Some(configured);
    }
    let (system, _) = system_conf::read_system_conf().ok()?;
    let system: Vec<_> =
        system.name_servers.iter().map(|server| SocketAddr::new(server.ip, DNS_PORT)).collect();
    (!system.is_empty()).then_some(system)
}

pub(super) fn address_or_none(text: &str) -> Option<Option<SocketAddr>> {
    if text.is_empty() { Some(None) } else { from_str(text).map(Some) }
}

pub(super) fn port(text: &str) -> Option<u16> {
    from_str(text).filter(|port| *port != 0)
}

/// At most as large as 10.0.0.0/8 and fc00::/7, the largest ranges that aren't public: all of the Internet would end
/// the guard.
pub(super) fn private_networks(text: &str) -> Option<Vec<IpNet>> {
    let is_small = |network: &IpNet| match network {
        IpNet::V4(network) => network.prefix_len() >= 8,
        IpNet::V6(network) => network.prefix_len() >= 7,
    };
    items(text).map(|item| network(item).filter(is_small)).collect()
}

pub(super) fn network(text: &str) -> Option<IpNet> {
    text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok()
}

pub(super) fn milliseconds(text: &str) -> Option<Duration> {
    from_str(text).filter(|ms| (1..=600_000).contains(ms)).map(Duration::from_millis)
}

pub(super) fn pause(text: &str) -> Option<Duration> {
    if text == "0" { Some(Duration::ZERO) } else { milliseconds(text) }
}

/// Up to 100 per session: servers must accept as many (RFC 5321 §4.5.3.1.8).
pub(super) fn recipients(text: &str) -> Option<usize> {
    count(text).filter(|count| *count <= 100)
}

/// `ipv4`, `ipv6` or both, separated by a comma; `Some(None)` for an empty text.
pub(super) fn families(text: &str) -> Option<Option<Families>> {
    let mut families = Families { ipv4: false, ipv6: false };
    for item in items(text) {
        let family = match item {
            "ipv4" => &mut families.ipv4,
            "ipv6" => &mut families.ipv6,
            _ => return None,
        };
        *family = true;
    }
    Some((families.ipv4 || families.ipv6).then_some(families))
}

pub(super) fn source_addresses(text: &str) -> Option<Vec<SourceAddress>> {
    items(text)
        .map(|item| {
            let (item, is_for_free) = match item.strip_prefix("free:") {
                Some(item) => (item, true),
                None => (item, false),
            };
            let (item, since) = match item.split_once('@') {
                Some((item, date)) => (item, Some(midnight(date.trim())?)),
                None => (item, None),
            };
            let (ip, name) = match item.split_once('=') {
                Some((ip, name)) => (ip, Some(host_name(name.trim())?)),
                None => (item, None),
            };
            Some(SourceAddress { ip: from_str(ip.trim())?, helo_name: name, since, is_for_free })
        })
        .collect()
}

fn midnight(text: &str) -> Option<u64> {
    let moment: toml::value::Datetime = text.parse().ok()?;
    let date = moment.date.filter(|_| moment.time.is_none())?;
    // Years are counted from March, so that a leap day is the last of its year.
    let (year, month) = match u64::from(date.month) {
        month @ 1..=2 => (u64::from(date.year).checked_sub(1)?, month + 9),
        month => (u64::from(date.year), month - 3),
    };
    let days = year * 365 + year / 4 - year / 100
        + year / 400
        + (month * 153 + 2) / 5
        + u64::from(date.day - 1);
    // Days from 0000-03-01 to 1970-01-01.
    days.checked_sub(719_468).map(|days| days * 24 * 3_600)
}

pub(super) fn server(text: &str) -> Option<Server> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let server = Server { host: host.to_owned(), port: self::port(port)? };
    (!host.is_empty()).then_some(server)
}

pub(super) fn servers(text: &str) -> Option<Vec<Server>> {
    items(text).map(server).collect()
}

pub(super) fn server_or_none(text: &str) -> Option<Option<Server>> {
    if text.is_empty() { Some(None) } else { server(text).map(Some) }
}

pub(super) fn domain_names(text: &str) -> Option<Vec<String>> {
    items(text).map(domain_name).collect()
}

pub(super) fn count(text: &str) -> Option<usize> {
    from_str(text).filter(|count| (1..=1_000_000).contains(count))
}

/// Ten thousand take about 500 MB (docs/security.md, L3).
pub(super) fn probes(text: &str) -> Option<usize> {
    count(text).filter(|count| *count <= 10_000)
}

pub(super) fn percent(text: &str) -> Option<f64> {
    let percent: u8 = from_str(text)?;
    (1..=100).contains(&percent).then(|| f64::from(percent) / 100.0)
}

pub(super) fn starttls(text: &str) -> Option<StartTls> {
    match text {
        "on_demand" => Some(StartTls::OnDemand),
        "always" => Some(StartTls::Always),
        _ => None,
    }
}

pub(super) fn key_ring(text: &str) -> Option<KeyRing> {
    KeyRing::parse(text).ok()
}

pub(super) fn log_level(text: &str) -> Option<LevelFilter> {
    // The type's own parser also accepts numbers.
    let is_lower_case = text.bytes().all(|b| b.is_ascii_lowercase());
    from_str(text).filter(|_| is_lower_case && !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Families, families, source_addresses};

    #[test]
    fn families_are_said_by_name() {
        assert_eq!(families(""), Some(None));
        assert_eq!(families("ipv6, ipv4"), Some(Some(Families::BOTH)));
        assert_eq!(families("ipv6"), Some(Some(Families { ipv4: false, ipv6: true })));
        for bad in ["inet", "4", "ipv4,", "IPv4"] {
            assert_eq!(families(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_source_address_may_have_a_name_and_a_date() {
        let since = |text| source_addresses(text).map(|all| all[0].since);
        for (text, time) in [
            ("192.0.2.1@1970-01-01", 0),
            ("192.0.2.1@2000-02-29", 951_782_400),
            ("192.0.2.1@2000-03-01", 951_868_800),
            ("2001:db8::1 @ 2026-11-22", 1_795_305_600),
            ("192.0.2.1=probe.example.com@2027-01-01", 1_798_761_600),
        ] {
            assert_eq!(since(text), Some(Some(time)), "{text}");
        }
        assert_eq!(since("192.0.2.1"), Some(None));
        for bad in
            ["192.0.2.1@", "192.0.2.1@yesterday", "192.0.2.1@2026-02-30", "192.0.2.1@1969-12-31"]
        {
            assert_eq!(source_addresses(bad), None, "{bad}");
        }
    }
}
