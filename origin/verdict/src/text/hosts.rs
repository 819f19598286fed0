//! Host names in a server's words: `callback.example.org` isn't about a callback, and a refusal that names a
//! blocklist's site is about our address.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::phrases;

/// Top-level domains, besides those of two letters, of names with a single dot. Other words joined by a full stop
/// aren't names.
const COMMON: &[&str] =
    &["com", "net", "org", "info", "biz", "edu", "gov", "email", "cloud", "goog"];

/// `run` has neither spaces nor brackets.
pub(super) fn is_host_name(run: &str) -> bool {
    let name = run.trim_matches(['.', '-', '_']);
    let Some((before, top)) = name.rsplit_once('.') else { return false };
    let lower = top.bytes().all(|octet| octet.is_ascii_lowercase());
    let upper = top.bytes().all(|octet| octet.is_ascii_uppercase());
    // `RESOLVER.ADR.RecipientNotFound` is a program's identifier, and `rejected.Your` the end of a
    // sentence.
    if top.len() < 2 || !(lower || upper) {
        return top.starts_with("xn--");
    }
    let labels = || before.split('.');
    let plain = labels().all(|label| {
        let octet = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
        !label.is_empty() && label.bytes().all(octet)
    });
    plain
        && match labels().count() {
            1 => top.len() == 2 || COMMON.contains(&top.to_ascii_lowercase().as_str()),
            _ => true,
        }
}

/// `data/blocklists.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocklists {
    /// Domains whose hosts and pages report listed addresses.
    sites: Vec<String>,
    /// First labels of the DNS zones in which addresses are looked up.
    zones: Vec<String>,
}

static BLOCKLISTS: LazyLock<Blocklists> =
    LazyLock::new(|| phrases::read(include_str!("../../data/blocklists.toml")));

pub(super) fn is_of_blocklist(host: &str) -> bool {
    let host = host.trim_matches('.').to_ascii_lowercase();
    let below = |site: &String| {
        host.strip_suffix(site.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let zone = host
        .split_once('.')
        .is_some_and(|(label, _)| BLOCKLISTS.zones.iter().any(|zone| zone == label));
    zone || BLOCKLISTS.sites.iter().any(below)
}

#[cfg(test)]
mod tests {
    use super::{is_host_name, is_of_blocklist};

    #[test]
    fn names_of_hosts_are_told_from_words() {
        for name in [
            "example.org",
            "EXAMPLE.COM",
            "ess.barracudanetworks.com",
            "AM0EUR02FT014.eop-EUR02.prod.protection.outlook.com",
            "_dmarc.example.de",
            "mx.xn--80a.xn--p1ai",
            "zen.spamhaus.org.",
        ] {
            assert!(is_host_name(name), "{name}");
        }
        for word in [
            "unknown",
            "5.7.1",
            "rejected.Your",
            "unknown.please",
            "RESOLVER.ADR.RecipientNotFound",
            "STOREDRV.Deliver",
            "192.0.2.1",
            "e.g",
            "...",
            "",
        ] {
            assert!(!is_host_name(word), "{word}");
        }
    }

    #[test]
    fn a_site_and_the_names_below_it_and_nothing_like_it() {
        for host in ["zen.spamhaus.org", "SPAMHAUS.org", "www.sorbs.net", "bl.example.net"] {
            assert!(is_of_blocklist(host), "{host}");
        }
        for host in ["notspamhaus.org", "spamhaus.org.example.com", "ess.barracudanetworks.com", ""]
        {
            assert!(!is_of_blocklist(host), "{host}");
        }
    }
}
