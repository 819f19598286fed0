//! Lists of domains and mail servers that determine a domain's kind: those of `data/lists/`, except for those in
//! `lists_file`. Providers and relays are on no accusing list, but are looked up first anyway.

mod bundle;
mod facts;
mod file;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, LazyLock},
};

pub use bundle::{Bundle, Header};
pub use facts::MailRoute;
pub use file::in_force;

pub const BUILT_IN: &str = concat!(
    include_str!("../data/lists/disposable-server.toml"),
    include_str!("../data/lists/disposable.toml"),
    include_str!("../data/lists/look-alike.toml"),
    include_str!("../data/lists/parked-server.toml"),
    include_str!("../data/lists/provider.toml"),
    include_str!("../data/lists/relay.toml"),
    include_str!("../data/lists/suggested.toml"),
);

#[expect(clippy::expect_used, reason = "the files are built in, and the tests read them")]
static BUILT_IN_LISTS: LazyLock<Arc<Lists>> = LazyLock::new(|| {
    Arc::new(Lists::of(Bundle::parse(BUILT_IN).expect("the lists of the package")))
});

#[derive(Debug)]
pub struct Lists {
    disposable: HashSet<String>,
    providers: HashSet<String>,
    relays: HashMap<String, Arc<str>>,
    parked_servers: HashSet<String>,
    disposable_servers: HashSet<String>,
    look_alikes: HashMap<String, String>,
    /// Domains to suggest. Of equally close domains, the first is suggested.
    suggested: Vec<String>,
    pub headers: BTreeMap<&'static str, Header>,
    pub sizes: BTreeMap<&'static str, usize>,
}

impl Lists {
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        BUILT_IN_LISTS.clone()
    }

    #[must_use]
    pub fn of(bundle: Bundle) -> Self {
        let headers = bundle.headers().into_iter().map(|(name, header)| (name, header.clone()));
        let headers = headers.collect();
        let sizes = bundle.entries().into_iter().map(|(name, entries)| (name, entries.len()));
        let sizes = sizes.collect();
        let relays = bundle.relay.operators.into_iter().flat_map(|(operator, domains)| {
            let operator: Arc<str> = operator.into();
            domains.into_iter().map(move |domain| (domain, operator.clone()))
        });
        Self {
            relays: relays.collect(),
            disposable: bundle.disposable.names.into_iter().collect(),
            providers: bundle.provider.names.into_iter().collect(),
            parked_servers: bundle.parked_server.names.into_iter().collect(),
            disposable_servers: bundle.disposable_server.domains.into_keys().collect(),
            look_alikes: bundle.look_alike.meant.into_iter().collect(),
            suggested: bundle.suggested.names,
            headers,
            sizes,
        }
    }

    /// Domains of providers and relays, and those below them, override the lists of disposable domains and servers.
    fn is_acquitted(&self, domain: &str) -> bool {
        listed_suffix(domain, |name| {
            self.providers.contains(name) || self.relays.contains_key(name)
        })
        .is_some()
    }
}

/// Down to two labels, the longest first.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, above)| above))
        .filter(|suffix| suffix.contains('.'))
}

fn listed_suffix(name: &str, is_listed: impl Fn(&str) -> bool) -> Option<&str> {
    suffixes(name).find(|suffix| is_listed(suffix))
}
