//! Sites of blocklists: a refusal that names a site is about our address, whatever its other words
//! are.

use std::sync::LazyLock;

use serde::Deserialize;

use super::matcher;

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
    LazyLock::new(|| matcher::read(include_str!("../data/blocklists.toml")));

pub(super) fn has(host: &str) -> bool {
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
    use super::has;

    #[test]
    fn a_site_and_the_names_below_it_and_nothing_like_it() {
        for host in ["zen.spamhaus.org", "SPAMHAUS.org", "www.sorbs.net", "bl.example.net"] {
            assert!(has(host), "{host}");
        }
        for host in ["notspamhaus.org", "spamhaus.org.example.com", "ess.barracudanetworks.com", ""]
        {
            assert!(!has(host), "{host}");
        }
    }
}
